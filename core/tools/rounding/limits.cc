// SPDX-License-Identifier: Apache-2.0
#include "core/tools/rounding/limits.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/element_type.h"

namespace byoc::driver {
namespace {

constexpr double kMargin = 2;  // measured differences are those of one choice of moves

/// Returns the largest difference that is finite, in units of `size(k)` for element k. Tensors of
/// different types, whose extents were counted, have no difference that can be measured.
template <class Size>
double largest_difference(const Tensor* moved, const Tensor& right, Size&& size) {
  double out = 0;
  if (moved == nullptr || moved->spec() != right.spec()) return out;
  with_element_type(right.spec().dtype, [&](auto zero) {
    using T = decltype(zero);
    auto* a = reinterpret_cast<const T*>(moved->data());
    auto* b = reinterpret_cast<const T*>(right.data());
    for (int64_t k = 0; k < num_elements(right.spec()); ++k) {
      const double error = std::abs(static_cast<double>(a[k]) - static_cast<double>(b[k]));
      if (std::isfinite(error) && size(k) > 0) out = std::max(out, error / size(k));
    }
  });
  return out;
}

std::string times(double steps) { return cat(steps, steps == 1 ? " step" : " steps"); }

}  // namespace

bool needs_some(std::span<const ValueSteps> values) {
  return std::ranges::any_of(values, [](const ValueSteps& v) { return v.roundings > 1; });
}

bool needs_last(std::span<const ValueSteps> values) {
  return std::ranges::any_of(values,
                             [](const ValueSteps& v) { return !v.is_exact() && !v.has_size(); });
}

Limit limit_of(const ValueSteps& steps, const MovedValue& value, double tolerance,
               const std::string& by) {
  Limit out{.tolerance = tolerance};
  if (steps.is_exact()) return out;
  out.sizes = steps.sizes;
  out.axis = steps.axis;
  std::string of_size;
  if (!steps.has_size()) {
    double size = largest_difference(value.last, *value.right, [](int64_t) { return 1.0; });
    if (size == 0) size = largest_difference(value.some, *value.right, [](int64_t) { return 1.0; });
    if (size == 0) return out;
    out.sizes = {size};
    of_size = cat("; a step of the last rounding changes ", by, "'s result by up to ", size);
  }
  double moved = 0;
  if (value.some != nullptr) {
    const StepSizes sizes(out, value.right->spec());
    moved = largest_difference(value.some, *value.right, [&](int64_t k) { return sizes.at(k); });
  }
  out.steps = 1 + std::ceil(kMargin * moved);
  out.why = steps.roundings < 2 ? "a value next to a tie is rounded to either side"
                                : cat("1 for the last rounding, and twice the ",
                                      times(std::round(moved * 10) / 10), " by which ", by,
                                      " differs when 1 in 64 of the values that it rounds is a "
                                      "step off");
  out.why += of_size;
  return out;
}

}  // namespace byoc::driver
