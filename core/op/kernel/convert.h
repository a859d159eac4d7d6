// SPDX-License-Identifier: Apache-2.0
#pragma once
// Converts one element type to another, by the rules of cast.
#include <cmath>
#include <limits>

#include "core/op/kernel/kernel.h"

namespace byoc::op {

/// Returns `value` cut towards zero to an integer of type T; the ends of T's range
/// beyond it, 0 for NaN.
template <class T>
T saturated(double value) {
  using Limits = std::numeric_limits<T>;
  if (std::isnan(value)) return 0;
  if (value <= static_cast<double>(Limits::lowest())) return Limits::lowest();
  if (value >= static_cast<double>(Limits::max())) return Limits::max();
  return static_cast<T>(value);
}

/// Converts an element. Integers wrap around between each other; floats saturate;
/// all but 0 is true.
template <class To, class From>
To converted(From from) {
  const Compute<From> value(from);
  if constexpr (std::is_same_v<To, From>) return from;
  else if constexpr (std::is_same_v<To, bool>) return value != 0;
  else if constexpr (is_half<To>) return static_cast<To>(static_cast<float>(value));
  else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<Compute<From>>)
    return saturated<To>(value);
  else return static_cast<To>(value);
}

}  // namespace byoc::op
