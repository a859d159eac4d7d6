// SPDX-License-Identifier: Apache-2.0
#pragma once
// Makes the limits of values of quantised models: how many steps of rounding two right results may
// be apart.
#include <span>

#include "core/tools/model/compare.h"
#include "core/tools/rounding/value_steps.h"

namespace byoc::driver {

/// A value computed by the reference, and again with moved rounding (moved_rounding.h).
struct MovedValue {
  const Tensor* right = nullptr;
  const Tensor* some = nullptr;  // Moved::kSome; null: not computed
  const Tensor* last = nullptr;  // Moved::kLast
};

/// Returns true when limits of these values read `some`, or `last`.
bool needs_some(std::span<const ValueSteps> values);
bool needs_last(std::span<const ValueSteps> values);

/// Returns the limit of one value:
///   exact                       no steps
///   rounded once                one step
///   rounded several times       one step, and twice the steps by which `some` is off, rounded up
///   of steps without a size     likewise, a step is the largest difference of `last`
/// `by` names the reference.
Limit limit_of(const ValueSteps& steps, const MovedValue& value, double tolerance,
               const std::string& by);

}  // namespace byoc::driver
