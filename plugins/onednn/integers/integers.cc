// SPDX-License-Identifier: Apache-2.0
#include "integers/integers.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace byoc::onednn {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kLeastFactor = 1e-30f;  // a bias divided by it is finite

// Returns element k of a constant, or its only one; `fallback` where it is absent or not known.
float number(const Region& region, int value, size_t k, float fallback) {
  auto known = region.numbers.find(value);
  if (value < 0 || known == region.numbers.end() || known->second.empty()) return fallback;
  return known->second.size() == 1 ? known->second[0] : known->second.at(k);
}

struct Bounds {
  float low = -kInfinity, high = kInfinity;
};

// Returns the bounds that relu and clip set.
Bounds bounds_of(const Unit& unit) {
  Bounds bounds;
  for (const Post& post : unit.posts) {
    if (post.node->op == "relu") bounds.low = 0;
    if (post.node->op != "clip") continue;
    bounds.low = static_cast<float>(post.node->attrs.f("min", -kInfinity));
    bounds.high = static_cast<float>(post.node->attrs.f("max", kInfinity));
    if (!(bounds.low <= bounds.high)) throw Refusal{"min is not below max"};
  }
  return bounds;
}

// The result's scale, zero point, and the least and the greatest integer.
struct Steps {
  float scale = 1, zero_point = 0, least = -kInfinity, greatest = kInfinity;
};

Steps steps_of(const Region& region, const Unit& unit) {
  const Scale& scale = unit.integers->result;
  if (scale.scale < 0) return {};
  const bool is_signed = region.type(scale.zero_point).dtype == sdk::DType::kI8;
  return {number(region, scale.scale, 0, 1), number(region, scale.zero_point, 0, 0),
          is_signed ? -128.0f : 0.0f, is_signed ? 127.0f : 255.0f};
}

// Appends the functions as bounds in steps; those that saturation implies are left out.
void append_bounds(dnnl::post_ops& ops, Bounds bounds, const Steps& steps) {
  bounds.low /= steps.scale;
  bounds.high /= steps.scale;
  if (bounds.low + steps.zero_point <= steps.least) bounds.low = -kInfinity;
  if (bounds.high + steps.zero_point >= steps.greatest) bounds.high = kInfinity;
  if (bounds.low == 0 && bounds.high == kInfinity)
    append_eltwise(ops, dnnl::algorithm::eltwise_relu, 0, 0);
  else if (bounds.low > -kInfinity || bounds.high < kInfinity)
    append_eltwise(ops, dnnl::algorithm::eltwise_clip, bounds.low, bounds.high);
}

// Appends the zero point of a product, which is added after rounding: a sum with it would round
// ties to other integers where it is odd, and lose digits.
void append_zero_point(dnnl::post_ops& ops, const Steps& steps) {
  if (steps.zero_point == 0) return;
  append_eltwise(ops, dnnl::algorithm::eltwise_round, 0, 0);
  append_eltwise(ops, dnnl::algorithm::eltwise_linear, 1, steps.zero_point);
}

// Returns a bias in steps of the sums. Quantised models have a bias of whole steps, of which f32
// has lost a part of the last digits: the whole number is added exactly.
float bias_in_steps(float bias, float step) {
  constexpr float kDigits = 0x1p-22f;  // three roundings: the scale's, the bias's, the quotient's
  const float steps = bias / step, whole = std::nearbyint(steps);
  return std::fabs(steps - whole) <= kDigits * std::fabs(steps) ? whole : steps;
}

// Refuses kernels whose sums of two products saturate at 16 bits, which is no exact product.
void check_machine() {
  if (!kHasOutputScales) throw Refusal{"integers are wired up for oneDNN 2.x"};
  const std::string isa = isa_text();
  if (isa == "sse41" || isa == "avx" || isa == "avx2" || isa == "avx512_core")
    throw Refusal{"oneDNN's sums of integers saturate on " + isa + ", which has no VNNI"};
}

}  // namespace

IntegerAttr product_attr(const Region& region, const Unit& unit, int64_t channels,
                         int64_t channel_axis) {
  check_machine();
  const Steps steps = steps_of(region, unit);
  const int bias = !unit.posts.empty() ? unit.posts[0].other : -1;
  IntegerAttr out;
  std::vector<float> factors;
  for (size_t c = 0; c < static_cast<size_t>(channels); ++c) {
    const float step = number(region, unit.integers->first.scale, 0, 1) *
                       number(region, unit.integers->second.scale, c, 1);
    const float factor = step / steps.scale, shift = number(region, bias, c, 0);
    out.bias.push_back(bias_in_steps(shift, step));
    factors.push_back(factor);
    if (!(step >= kLeastFactor && factor >= kLeastFactor && std::isfinite(factor) &&
          std::isfinite(out.bias.back())))
      throw Refusal{"the scales are too small or too large for f32"};
  }
  dnnl::post_ops ops;
  append_bounds(ops, bounds_of(unit), steps);
  append_zero_point(ops, steps);
  out.attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  out.attr.set_post_ops(ops);
  set_output_scales(out.attr, 1 << channel_axis, factors);
  const auto zero_point =
      static_cast<int32_t>(number(region, unit.integers->first.zero_point, 0, 0));
  if (zero_point != 0) set_zero_point(out.attr, DNNL_ARG_SRC, zero_point);
  return out;
}

SumOfIntegers sum_of(const Region& region, const Unit& unit) {
  check_machine();
  const Steps steps = steps_of(region, unit);
  const Scale* operands[] = {&unit.integers->first, &unit.integers->second};
  SumOfIntegers sum;
  float zero_points[] = {0, 0, steps.zero_point};
  for (size_t k = 0; k < 2; ++k) {
    sum.is_signed[k] = region.type(unit.args[k]).dtype == sdk::DType::kI8;
    sum.factors[k] = number(region, operands[k]->scale, 0, 1) / steps.scale;
    zero_points[k] = number(region, operands[k]->zero_point, 0, 0);
    if (!std::isfinite(sum.factors[k]))
      throw Refusal{"the scales are too small or too large for f32"};
  }
  sum.is_result_signed = region.type(unit.out).dtype == sdk::DType::kI8;
  sum.least = std::max(steps.least, bounds_of(unit).low / steps.scale + steps.zero_point);
  sum.greatest = steps.greatest;
  return shifted(sum, zero_points);
}

}  // namespace byoc::onednn
