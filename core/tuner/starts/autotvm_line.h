// SPDX-License-Identifier: Apache-2.0
#pragma once
// One line of a log of AutoTVM, version 0.2 of its format, for CPUs:
//   {"input": [target, template, arguments, {}], "config": {"entity": [[name, kind, value]...]},
//    "result": [[seconds...], error, seconds of the trial, time], "version": 0.2}
// The templates are other code for other layouts. Only some choices have a knob: tile_ow, tile_oh
// and tile_oc of conv2d_NCHWc.x86 are the tile of a conv2d_nchwc, and unroll_kw its unroll; tile_y
// and tile_x of dense_pack.x86 are the tile and the panels of a product, tile_y of
// dense_nopack.x86 its rows. A layout (tile_ic) and unrolled terms (tile_k) have no knob.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "byoc/base/status.h"
#include "core/tuner/starts/task_sums.h"

namespace byoc::tune {

/// A line that may be used.
struct AutotvmLine {
  std::string name;  ///< of the template
  SumExtents extents;
  std::map<std::string, std::vector<int64_t>> choices;  ///< parts of a split; other values as one
  double seconds = 0;                                   ///< the mean
};

/// Returns the line. Errors: the message is the reason that the line is of no use.
Result<AutotvmLine> parse_autotvm_line(std::string_view line);
/// Returns values for knobs of the space. `unfit` gets the names of choices that no knob fits.
Point knobs_of(const AutotvmLine& line, const SumExtents& task, const Space& space,
               std::vector<std::string>& unfit);

}  // namespace byoc::tune
