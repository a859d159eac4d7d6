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

// The result's steps per number, its zero point, and the least and the greatest integer.
struct Steps {
  float per_number = 1, zero_point = 0, least = -kInfinity, greatest = kInfinity;
};

Steps steps_of(const Region& region, const Unit& unit) {
  const Scale& scale = unit.integers->result;
  if (scale.scale < 0) return {};
  const bool is_signed = region.type(scale.zero_point).dtype == sdk::DType::kI8;
  return {1 / number(region, scale.scale, 0, 1), number(region, scale.zero_point, 0, 0),
          is_signed ? -128.0f : 0.0f, is_signed ? 127.0f : 255.0f};
}

// Returns the post-ops for bounds in steps; those that saturation implies are left out.
dnnl::post_ops clipped(Bounds bounds, const Steps& steps) {
  dnnl::post_ops ops;
  bounds.low = bounds.low * steps.per_number + steps.zero_point;
  bounds.high = bounds.high * steps.per_number + steps.zero_point;
  if (bounds.low <= steps.least) bounds.low = -kInfinity;
  if (bounds.high >= steps.greatest) bounds.high = kInfinity;
  if (bounds.low == 0 && bounds.high == kInfinity)
    append_eltwise(ops, dnnl::algorithm::eltwise_relu, 0, 0);
  else if (bounds.low > -kInfinity || bounds.high < kInfinity)
    append_eltwise(ops, dnnl::algorithm::eltwise_clip, bounds.low, bounds.high);
  return ops;
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
    const float scale = number(region, unit.integers->first.scale, 0, 1) *
                        number(region, unit.integers->second.scale, c, 1) * steps.per_number;
    const float shift = number(region, bias, c, 0) * steps.per_number + steps.zero_point;
    if (!(scale >= kLeastFactor && std::isfinite(scale) && std::isfinite(shift)))
      throw Refusal{"the scales are too small or too large for f32"};
    factors.push_back(scale);
    out.bias.push_back(shift / factors.back());
  }
  out.attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  out.attr.set_post_ops(clipped(bounds_of(unit), steps));
  set_output_scales(out.attr, 1 << channel_axis, factors);
  const auto zero_point =
      static_cast<int32_t>(number(region, unit.integers->first.zero_point, 0, 0));
  if (zero_point != 0) set_zero_point(out.attr, DNNL_ARG_SRC, zero_point);
  return out;
}

dnnl::primitive_attr sum_attr(const Region& region, const Unit& unit) {
  check_machine();
  const Steps steps = steps_of(region, unit);
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  float shift = steps.zero_point;
  for (auto [scale, arg] : {std::pair(unit.integers->first, DNNL_ARG_SRC_0),
                            std::pair(unit.integers->second, DNNL_ARG_SRC_1)}) {
    const float factor = number(region, scale.scale, 0, 1) * steps.per_number;
    set_scale(attr, arg, factor);
    shift -= number(region, scale.zero_point, 0, 0) * factor;
  }
  dnnl::post_ops ops;
  append_eltwise(ops, dnnl::algorithm::eltwise_linear, 1, shift);
  const Bounds bounds = bounds_of(unit);
  const float low = bounds.low * steps.per_number + steps.zero_point;
  if (low > steps.least) append_eltwise(ops, dnnl::algorithm::eltwise_clip, low, kInfinity);
  attr.set_post_ops(ops);
  return attr;
}

}  // namespace byoc::onednn
