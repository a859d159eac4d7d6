// SPDX-License-Identifier: Apache-2.0
#pragma once
// One line of a log of AutoTVM, and the spaces that it fits.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "byoc/tune/space.h"
#include "core/tuner/search/task_text.h"

namespace byoc::tune {

/// The extents of a convolution or a product, as sums of `terms * kh * kw` terms. Products of
/// extents of a log may be large, so that they are no integers.
struct SumExtents {
  bool is_conv = false;
  double rows = 0;          ///< images times pixels, or rows of the result
  double columns = 0;       ///< channels of the result, or its columns
  double terms = 0;         ///< channels of the image, or the common extent
  double kh = 1, kw = 1;    ///< the window
  double column_block = 1;  ///< columns are in blocks, the last one may have padding
  double term_block = 1;    ///< terms are in blocks, the last one may have padding
};

/// A line that may be used.
struct AutotvmLine {
  std::string name;  ///< of the template
  SumExtents extents;
  std::map<std::string, std::vector<int64_t>> choices;  ///< parts of a split; other values as one
  double seconds = 0;                                   ///< the mean
};

/// Returns the line. Errors: the message is the reason that the line is of no use.
Result<AutotvmLine> parse_autotvm_line(std::string_view line);
/// Returns the extents of a task of one of the ops conv2d_nchwc, matmul, gemm and matmul_packed;
/// nullopt for others.
std::optional<SumExtents> extents_of(const Space& space);
/// Returns true when the sums of the line are those of the task, except for padding.
bool is_same_shape(const SumExtents& line, const SumExtents& task);
/// Returns values for knobs of the space. `unfit` gets the names of choices that no knob fits.
Point knobs_of(const AutotvmLine& line, const SumExtents& task, const Space& space,
               std::vector<std::string>& unfit);

}  // namespace byoc::tune
