// SPDX-License-Identifier: Apache-2.0
#pragma once
// Walks a tensor as kept positions, each with the elements that are reduced together there; the
// order of elements.
#include "core/op/kernel/util.h"

namespace byoc::op {

/// Offsets into x: one of `kept` (in the order of the output) plus one of `taken`.
struct ReduceWalk {
  Walk<1> kept, taken;
  int64_t n_taken;  // elements taken together
};
ReduceWalk reduce_walk(TypeId x, const std::vector<size_t>& axes);

/// Returns the shape of x with `axes` (sorted) made 1, or left out.
Shape reduced_shape(const Shape& x, const std::vector<size_t>& axes, bool keepdims);

/// Calls visit(offset) for every kept position, in the order of the output.
template <class Visit>
void for_kept(const ReduceWalk& walk, Visit&& visit) {
  walk.kept.for_rows([&](const auto& at, int64_t n, const auto& step) {
    for (int64_t k = 0; k < n; ++k) visit(at[0] + k * step[0]);
  });
}

/// Calls visit(offset) for every element taken together at the kept position `base`.
template <class Visit>
void for_taken(const ReduceWalk& walk, int64_t base, Visit&& visit) {
  walk.taken.for_rows([&](const auto& at, int64_t n, const auto& step) {
    for (int64_t k = 0; k < n; ++k) visit(base + at[0] + k * step[0]);
  });
}

/// Returns whether a comes before b in a strict order of all values, in which NaN is the greatest,
/// as in numpy.
template <class T>
bool is_less(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a < b || (b != b && a == a);
  else return a < b;
}

}  // namespace byoc::op
