// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/families/fourier/plan.h"

#include <algorithm>
#include <limits>

namespace byoc::llvm_plugin::fourier {
namespace {

constexpr int64_t kMostFactor = 1024;              // its matrix has 16 MiB
constexpr int64_t kMostLength = int64_t{1} << 22;  // the tables have two numbers per element
// Operations on the two parts of an element between two steps: loads, products, sums and stores.
constexpr double kWorkBetween = 16;

std::vector<int64_t> divisors_of(int64_t n) {
  std::vector<int64_t> out;
  for (int64_t d = 1; d * d <= n; ++d) {
    if (n % d != 0) continue;
    out.push_back(d);
    if (d * d != n) out.push_back(n / d);
  }
  std::ranges::sort(out);
  return out;
}

/// The steps for a divisor of the length.
struct Steps {
  double work = std::numeric_limits<double>::infinity();
  int64_t last = 1;  // factor
  size_t rest = 0;   // the divisor that is left
};

// Returns the least work of each divisor.
std::vector<Steps> steps_of(const std::vector<int64_t>& divisors) {
  std::vector<Steps> out(divisors.size());
  out[0].work = 0;
  for (size_t k = 1; k < divisors.size(); ++k) {
    for (size_t rest = 0; rest < k; ++rest) {
      const int64_t factor = divisors[k] / divisors[rest];
      if (divisors[k] % divisors[rest] != 0 || factor > kMostFactor) continue;
      const double work = out[rest].work + 4 * static_cast<double>(factor) + kWorkBetween;
      if (work < out[k].work) out[k] = {work, factor, rest};
    }
  }
  return out;
}

}  // namespace

std::vector<int64_t> factors_of(int64_t length, const te::Target& target) {
  if (length < 1 || length > kMostLength) return {};
  const std::vector<int64_t> divisors = divisors_of(length);
  const std::vector<Steps> steps = steps_of(divisors);
  const int64_t lanes = std::max<int64_t>(target.lanes(sizeof(float)), 1);
  double least = std::numeric_limits<double>::infinity();
  std::vector<int64_t> out;
  for (size_t k = 0; k < divisors.size(); ++k) {
    const int64_t first = length / divisors[k], vectors = (first + lanes - 1) / lanes;
    if (first > kMostFactor) continue;
    const double filled = static_cast<double>(first) / static_cast<double>(vectors * lanes);
    const double work = (steps[k].work + 4 * static_cast<double>(first) + kWorkBetween) / filled;
    if (work >= least) continue;
    least = work, out = {first};
    for (size_t at = k; at > 0; at = steps[at].rest) out.push_back(steps[at].last);
  }
  return out;
}

std::optional<Plan> plan_of(const te::Site& site) {
  if (site.op->name != "dft") return std::nullopt;
  const Shape &x = site.inputs[0]->shape, &y = site.outputs[0]->shape;
  if (!is_static(x) || !is_static(y) || *num_elements(y) == 0 || *num_elements(x) == 0)
    return std::nullopt;
  const Attrs& attrs = *site.attrs;
  const auto rank = static_cast<int64_t>(x.size());
  const int64_t axis = attrs.i("axis");
  Plan plan;
  plan.axis = static_cast<size_t>(axis < 0 ? axis + rank : axis);
  plan.is_inverse = attrs.b("inverse", false);
  plan.is_complex = x.back().extent() == 2;
  plan.is_real_result = y.back().extent() == 1;
  plan.results = y[plan.axis].extent();
  const int64_t extent = x[plan.axis].extent(), given = attrs.i("length", 0);
  const bool is_side = attrs.b("onesided", false) && !plan.is_inverse;
  plan.length = !is_side ? plan.results : given > 0 ? given : extent;
  plan.used = std::min(extent, plan.is_real_result ? plan.length / 2 + 1 : plan.length);
  plan.factors = factors_of(plan.length, *site.target);
  if (plan.factors.empty()) return std::nullopt;
  return plan;
}

}  // namespace byoc::llvm_plugin::fourier
