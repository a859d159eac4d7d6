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

/// Returns the largest difference that is allowed for an expected value, the element `k`.
using Allowed = std::function<double(double expected, int64_t k)>;

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
    double excess = std::isfinite(error) ? error - allowed(y, k) : INFINITY;
    if (excess > 0) out.is_equal = false;
    if (excess <= worst_excess) continue;
    worst_excess = excess;
    out.max_error = error;
    out.worst = k;
    out.got = x;
    out.expected = y;
  }
}

// Compares integers, which are equal where nothing is allowed.
template <class T>
void compare_integers(const Tensor& got, const Tensor& expected, const Allowed& allowed,
                      Difference& out) {
  auto* a = reinterpret_cast<const T*>(got.data());
  auto* b = reinterpret_cast<const T*>(expected.data());
  int64_t n = num_elements(expected.spec());
  double worst_excess = -INFINITY;
  for (int64_t k = 0; k < n; ++k) {
    if (a[k] == b[k]) continue;
    const double x = static_cast<double>(a[k]), y = static_cast<double>(b[k]);
    const double error = std::abs(x - y), most = allowed(y, k);
    // Two great integers may be one double.
    if (most <= 0 || error > most) out.is_equal = false;
    if (error - most <= worst_excess) continue;
    worst_excess = error - most;
    out.max_error = error;
    out.worst = k;
    out.got = x;
    out.expected = y;
  }
}

Difference compare(const Tensor& got, const Tensor& expected, double largest,
                   const Allowed& allowed) {
  Difference out;
  if (got.spec() != expected.spec()) {
    out.is_equal = false;
    out.reason = cat("it is ", got.spec(), ", expected ", expected.spec());
    return out;
  }
  out.largest = largest;
  with_element_type(got.spec().dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) compare_integers<T>(got, expected, allowed, out);
    else compare_floats<T>(got, expected, allowed, out);
  });
  return out;
}

constexpr double kLeastSteps = 0.01;  // that are printed: less is the tolerance of floats

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

StepSizes::StepSizes(const Limit& limit, const TensorSpec& spec) : sizes_(limit.sizes) {
  const bool is_small = is_int(spec.dtype) && dtype_size(spec.dtype) <= 2;
  if (sizes_.empty() && is_small && limit.steps > 0) sizes_ = {1};
  for (size_t k = limit.axis + 1; k < spec.dims.size(); ++k) inner_ *= spec.dims[k];
}

double StepSizes::at(int64_t element) const {
  if (sizes_.size() < 2) return sizes_.empty() ? 0 : sizes_[0];
  return sizes_[static_cast<size_t>(element / inner_) % sizes_.size()];
}

Difference compare_to_largest(const Tensor& got, const Tensor& expected, double tolerance,
                              int64_t steps) {
  return compare_to_limit(got, expected,
                          {.tolerance = tolerance, .steps = static_cast<double>(steps)});
}

Difference compare_to_limit(const Tensor& got, const Tensor& expected, const Limit& limit) {
  const double scale = value_scale(expected);
  const StepSizes sizes(limit, expected.spec());
  const bool is_floats = is_float(expected.spec().dtype);
  Difference out = compare(got, expected, scale, [&](double value, int64_t k) {
    const double steps = limit.steps * sizes.at(k);
    return is_floats ? steps + allowed_error(value, scale, limit.tolerance) : steps;
  });
  if (out.worst >= 0) out.step = sizes.at(out.worst);
  return out;
}

Difference compare_each(const Tensor& got, const Tensor& expected, double relative,
                        double absolute) {
  const bool is_floats = is_float(expected.spec().dtype);
  return compare(got, expected, value_scale(expected), [&](double value, int64_t) {
    return is_floats ? absolute + relative * std::abs(value) : 0;
  });
}

std::string describe(const Difference& difference, const TensorSpec& spec) {
  if (!difference.reason.empty()) return difference.reason;
  if (difference.worst < 0) return "equal";
  std::string of_max =
      difference.largest > 0
          ? cat(" (", short_number(difference.max_error / difference.largest), " of max)")
          : "";
  if (difference.max_error >= kLeastSteps * difference.step && difference.step > 0) {
    const double steps = difference.max_error / difference.step;
    of_max += cat(", ", short_number(steps), steps == 1 ? " step" : " steps", " of ",
                  short_number(difference.step));
  }
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
      if (call != nullptr && call->op->facts.family == OpFamily::kQuantize) return 1;
    }
  }
  return 0;
}

ComparedValue compare_value(std::string name, const Tensor& got, const Tensor& expected,
                            Limit limit) {
  if (limit.tolerance < 0) limit.tolerance = default_tolerance(expected.spec().dtype);
  Difference difference = compare_to_limit(got, expected, limit);
  return {std::move(name), got.spec(), std::move(limit), std::move(difference)};
}

ComparedValue compare_value(std::string name, const Tensor& got, const Tensor& expected,
                            double tolerance, int64_t steps) {
  return compare_value(std::move(name), got, expected,
                       Limit{.tolerance = tolerance, .steps = static_cast<double>(steps)});
}

std::string limit_text(const ComparedValue& value) {
  const Limit& limit = value.limit;
  if (StepSizes(limit, value.spec).at(0) * limit.steps == 0)
    return is_float(value.spec.dtype) ? cat(limit.tolerance, " of max") : "nothing";
  return cat(limit.steps, limit.steps == 1 ? " step" : " steps",
             limit.why.empty() ? "" : cat(": ", limit.why));
}

std::string value_text(const ComparedValue& value) {
  const Difference& difference = value.difference;
  return cat(value.spec, ": ", describe(difference, value.spec),
             difference.is_equal ? "" : cat(", allowed ", limit_text(value)));
}

Json to_json(const ComparedValue& value) {
  const Difference& difference = value.difference;
  const bool has_step = difference.step > 0;
  return {{"name", value.name},
          {"type", cat(value.spec)},
          {"equal", difference.is_equal},
          {"reason", difference.reason},
          {"max_error", difference.max_error},
          {"largest", difference.largest},
          {"allowed_of_max", value.limit.tolerance},
          {"step", has_step ? Json(difference.step) : Json()},
          {"steps", has_step ? Json(difference.max_error / difference.step) : Json()},
          {"allowed_steps", value.limit.steps},
          {"why_allowed", value.limit.why}};
}

}  // namespace byoc::driver
