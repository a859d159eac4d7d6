// SPDX-License-Identifier: Apache-2.0
#pragma once
// The error of a run that reads or writes at an index outside of its tensor, or has an operand with
// a number outside of its range. All kernels report it in the same words.
#include "byoc/base/status.h"

namespace byoc {

/// Returns kOutOfRange: `index`, an operand of `op`, is outside of [low, extent). An `op` such as
/// "lstm.lengths" names the operand, too, whose numbers are no indices.
inline Status index_outside(std::string_view op, int64_t index, int64_t low, int64_t extent) {
  if (const size_t dot = op.find('.'); dot != op.npos) {
    return Status(Code::kOutOfRange, cat(op.substr(0, dot), ": ", op.substr(dot + 1), " holds ",
                                         index, ", expected ", low, " to ", extent - 1));
  }
  return Status(Code::kOutOfRange, cat(op, ": index ", index, " is outside of [", low, ", ", extent,
                                       "), the extent is ", extent));
}

}  // namespace byoc
