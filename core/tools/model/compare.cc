// SPDX-License-Identifier: Apache-2.0
#include "core/tools/model/compare.h"

#include <cmath>
#include <cstdio>
#include <functional>

#include "byoc/base/json.h"
#include "core/tools/model/value_scale.h"
#include "runtime/base/element_type.h"

namespace byoc::driver {
namespace {

/// Returns the largest difference that is allowed for an expected value.
using Allowed = std::function<double(double expected)>;

/// Returns the error of one element: 0 when both are equal, infinite when no tolerance applies.
double error_of(double got, double expected) {
  if (got == expected || (std::isnan(got) && std::isnan(expected))) return 0;
  double error = std::abs(got - expected);
  return std::isfinite(error) ? error : INFINITY;
}

template <class T>
void compare_floats(const Tensor& got, const Tensor& expected, const Allowed& allowed,
                    Difference& out) {
  auto* a = reinterpret_cast<const T*>(got.data());
  auto* b = reinterpret_cast<const T*>(expected.data());
  int64_t n = num_elements(expected.spec());
  double worst_excess = -INFINITY;
  for (int64_t k = 0; k < n; ++k) {
    double x = static_cast<double>(a[k]), y = static_cast<double>(b[k]);
    double error = error_of(x, y);
    if (error == 0) continue;
    // An infinite error is never allowed, although allowed(y) may be infinite when y is.
    double excess = std::isfinite(error) ? error - allowed(y) : INFINITY;
    if (excess > 0) out.is_equal = false;
    if (excess <= worst_excess) continue;
    worst_excess = excess;
    out.max_error = error;
    out.worst = k;
    out.got = x;
    out.expected = y;
  }
}

// Compares integers, which may be `steps` apart.
template <class T>
void compare_exactly(const Tensor& got, const Tensor& expected, int64_t steps, Difference& out) {
  auto* a = reinterpret_cast<const T*>(got.data());
  auto* b = reinterpret_cast<const T*>(expected.data());
  int64_t n = num_elements(expected.spec());
  for (int64_t k = 0; k < n; ++k) {
    double error = std::abs(static_cast<double>(a[k]) - static_cast<double>(b[k]));
    if (a[k] == b[k] || (out.worst >= 0 && error <= out.max_error)) continue;
    const bool is_allowed = steps > 0 && error <= static_cast<double>(steps);
    out = {is_allowed,
           "",
           error,
           out.largest,
           k,
           static_cast<double>(a[k]),
           static_cast<double>(b[k])};
  }
}

Difference compare(const Tensor& got, const Tensor& expected, double largest,
                   const Allowed& allowed, int64_t steps = 0) {
  Difference out;
  if (got.spec() != expected.spec()) {
    out.is_equal = false;
    out.reason = cat("it is ", got.spec(), ", expected ", expected.spec());
    return out;
  }
  out.largest = largest;
  with_element_type(got.spec().dtype, [&](auto zero) {
    using T = decltype(zero);
    constexpr bool is_small = sizeof(T) <= 2 && !std::is_same_v<T, bool>;
    if constexpr (std::is_integral_v<T>)
      compare_exactly<T>(got, expected, is_small ? steps : 0, out);
    else compare_floats<T>(got, expected, allowed, out);
  });
  return out;
}

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

std::string index_text(int64_t flat, const std::vector<int64_t>& dims) {
  std::string out;
  for (size_t k = dims.size(); k-- > 0;) {
    out = cat(flat % dims[k], out.empty() ? "" : ",", out);
    flat /= dims[k];
  }
  return cat("[", out, "]");
}

}  // namespace

Difference compare_to_largest(const Tensor& got, const Tensor& expected, double tolerance,
                              int64_t steps) {
  double scale = value_scale(expected);
  auto allowed = [&](double value) { return allowed_error(value, scale, tolerance); };
  return compare(got, expected, scale, allowed, steps);
}

Difference compare_each(const Tensor& got, const Tensor& expected, double relative,
                        double absolute) {
  return compare(got, expected, value_scale(expected),
                 [&](double value) { return absolute + relative * std::abs(value); });
}

std::string describe(const Difference& difference, const TensorSpec& spec) {
  if (!difference.reason.empty()) return difference.reason;
  if (difference.worst < 0) return "equal";
  std::string of_max =
      difference.largest > 0
          ? cat(" (", short_number(difference.max_error / difference.largest), " of max)")
          : "";
  return cat("max error ", short_number(difference.max_error), of_max, ", worst ",
             index_text(difference.worst, spec.dims), " ", short_number(difference.got),
             " instead of ", short_number(difference.expected));
}

double default_tolerance(DType dtype) {
  if (dtype == DType::kF16) return 5e-3;
  if (dtype == DType::kBF16) return 4e-2;
  return 1e-4;
}

int64_t allowed_steps(const IRModule& module) {
  for (const auto& [name, function] : module.functions) {
    for (const Node& node : function.nodes) {
      auto* call = std::get_if<Call>(&node.kind);
      if (call != nullptr && call->op->name == "quantize") return 1;
    }
  }
  return 0;
}

ComparedValue compare_value(std::string name, const Tensor& got, const Tensor& expected,
                            double tolerance, int64_t steps) {
  const double allowed = tolerance >= 0 ? tolerance : default_tolerance(expected.spec().dtype);
  return {std::move(name), got.spec(), allowed, compare_to_largest(got, expected, allowed, steps)};
}

std::string value_text(const ComparedValue& value) {
  return cat(value.spec, ": ", describe(value.difference, value.spec),
             value.difference.is_equal ? "" : cat(", allowed ", value.allowed, " of max"));
}

Json to_json(const ComparedValue& value) {
  return {{"name", value.name},
          {"type", cat(value.spec)},
          {"equal", value.difference.is_equal},
          {"reason", value.difference.reason},
          {"max_error", value.difference.max_error},
          {"largest", value.difference.largest},
          {"allowed_of_max", value.allowed}};
}

}  // namespace byoc::driver
