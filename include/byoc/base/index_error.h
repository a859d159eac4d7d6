// SPDX-License-Identifier: Apache-2.0
#pragma once
// The error of a run that reads or writes at an index outside of its tensor. All kernels report it
// in the same words.
#include "byoc/base/status.h"

namespace byoc {

/// Returns kOutOfRange: `index`, an operand of `op`, is outside of [low, extent).
inline Status index_outside(std::string_view op, int64_t index, int64_t low, int64_t extent) {
  return Status(Code::kOutOfRange, cat(op, ": index ", index, " is outside of [", low, ", ", extent,
                                       "), the extent is ", extent));
}

}  // namespace byoc
