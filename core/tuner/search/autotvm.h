// SPDX-License-Identifier: Apache-2.0
#pragma once
// Starting points from logs of AutoTVM, version 0.2 of its format, for CPUs. Each line is
//   {"input": [target, template, arguments, {}], "config": {"entity": [[name, kind, value]...]},
//    "result": [[seconds...], error, seconds of the trial, time], "version": 0.2}
// The templates are other code for other layouts, so that times mean nothing here, and only some
// choices have a knob: tile_ow, tile_oh and tile_oc of conv2d_NCHWc.x86 are the tile of a
// conv2d_nchwc, and unroll_kw its unroll; tile_y and tile_x of dense_pack.x86 are the tile and the
// panels of a product, tile_y of dense_nopack.x86 its rows. A layout (tile_ic) and the unrolled
// terms of a product (tile_k) have none.
#include <map>
#include <span>
#include <string>
#include <vector>

#include "byoc/tune/space.h"

namespace byoc::tune {

/// A point to begin with.
struct AutotvmStart {
  size_t task;     ///< the number of its space
  Point point;     ///< inside of the space
  double seconds;  ///< of a run, where the log was made
  friend bool operator==(const AutotvmStart&, const AutotvmStart&) = default;
};

/// The points of a log, and the rest of it.
struct AutotvmStarts {
  std::vector<AutotvmStart> starts;       ///< by task, then the fastest first
  size_t lines = 0;                       ///< of the log, without empty ones
  size_t used = 0;                        ///< lines that gave a point; equal points count each time
  std::map<std::string, size_t> skipped;  ///< lines that gave none, by reason
  std::map<std::string, size_t> choices_used;   ///< of used lines, by their name in the log
  std::map<std::string, size_t> choices_unfit;  ///< of used lines, those that no knob fits
};

/// Reads the text of a log. Of equal points the fastest is kept, and of a task the `most` fastest.
/// Records match tasks by the extents in the tasks' texts (task_text.h). No line is an error.
AutotvmStarts parse_autotvm(std::string_view log, std::span<const Space* const> spaces,
                            size_t most = 4);
/// Reads a file. Errors: those of read_file.
Result<AutotvmStarts> read_autotvm(const std::string& path, std::span<const Space* const> spaces,
                                   size_t most = 4);
/// Returns lines such as "2 of 5 lines used; 3 skipped: 2 other template, 1 no task of this shape".
std::string summary_of(const AutotvmStarts& starts);

}  // namespace byoc::tune
