// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plain loops over memory, for ops that oneDNN has no primitive for, or computes otherwise than the
// op is defined. They run instead of a primitive or after it.
#include "primitives/builder.h"

namespace byoc::onednn {

/// Calls visit(k, places) for each cell k of `dims`, row by row; places[v]: of operand v, which is
/// broadcast to `dims` from `operands[v]`.
class Broadcast {
 public:
  static constexpr size_t kMaxRank = 6, kMaxOperands = 3;
  Broadcast(const Dims& dims, std::initializer_list<Dims> operands);
  template <class Visit>
  void walk(Visit&& visit) const;

 private:
  size_t rank_ = 0, operands_ = 0;
  int64_t cells_ = 1;
  int64_t dims_[kMaxRank] = {};
  int64_t strides_[kMaxOperands][kMaxRank] = {};
};

/// Computes the maximum or minimum of plain operands, the second broadcast to `dims`; NaN is kept.
Loop extrema_rows(bool is_max, const Dims& dims, const Dims& second);
Loop softmax_again(const Dims& dims, size_t axis);
/// Computes log_softmax from the softmax that the result holds.
Loop log_after_softmax(const Dims& dims, size_t axis);
Loop prelu_again(const Dims& dims, const Dims& slopes);

template <class Visit>
void Broadcast::walk(Visit&& visit) const {
  int64_t at[kMaxRank] = {}, places[kMaxOperands] = {};
  for (int64_t cell = 0; cell < cells_; ++cell) {
    visit(cell, places);
    for (size_t d = rank_; d-- > 0;) {
      for (size_t v = 0; v < operands_; ++v) places[v] += strides_[v][d];
      if (++at[d] < dims_[d]) break;
      for (size_t v = 0; v < operands_; ++v) places[v] -= strides_[v][d] * dims_[d];
      at[d] = 0;
    }
  }
}

}  // namespace byoc::onednn
