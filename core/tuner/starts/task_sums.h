// SPDX-License-Identifier: Apache-2.0
#pragma once
// The sums that tasks and records of other tuners compute, by which they are matched.
#include <cstdint>
#include <optional>
#include <string>

#include "byoc/tune/space.h"

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

/// Returns the extents of a task of one of the ops conv2d_nchwc, matmul, gemm and matmul_packed;
/// nullopt for others.
std::optional<SumExtents> extents_of(const Space& space);
/// Returns true when the sums of the record are those of the task, except for padding.
bool is_same_shape(const SumExtents& record, const SumExtents& task);

/// Returns the digits of a count of at least 1.
std::string text_of(double count);
/// Returns the knob's value in the first guess; "" without the knob.
std::string first_value(const Space& space, const char* knob);

}  // namespace byoc::tune
