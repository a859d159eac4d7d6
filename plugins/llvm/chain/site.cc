// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/chain/site.h"

#include <algorithm>

namespace byoc::llvm_plugin::chain {
namespace {

constexpr uint32_t kMostNodes = 256;  // from one convolution to the next

const Call* call_at(const Function& function, uint32_t node) {
  return std::get_if<Call>(&function.nodes[node].kind);
}

bool is_conv(const Function& function, uint32_t node) {
  const Call* call = call_at(function, node);
  return call != nullptr && call->op->name == "conv2d_nchwc";
}

// Returns true for weight [c / b, 1, kh, kw, 1, b] of as many groups as channels.
bool is_depthwise(const Function& function, uint32_t node) {
  const Shape& weight = function.type(function.args(function.nodes[node])[1])->shape;
  if (!is_conv(function, node) || !is_static(weight)) return false;
  const Ints e = static_extents(weight);
  return e[1] * e[4] == 1 && e[2] * e[3] > 1 &&
         call_at(function, node)->attrs->i("group", 1) == e[0] * e[5];
}

bool reads(const Function& function, uint32_t node, uint32_t from) {
  return std::ranges::any_of(function.args(function.nodes[node]),
                             [&](ValueId arg) { return arg.node == from; });
}

// Returns the convolution whose image comes from that of `from`.
std::optional<uint32_t> next_conv(const Function& function, uint32_t from) {
  const auto last = static_cast<uint32_t>(function.nodes.size());
  uint32_t value = from;
  for (uint32_t at = from + 1; at < last && at - from <= kMostNodes; ++at) {
    if (!reads(function, at, value)) continue;
    if (is_conv(function, at)) {
      const bool is_image = function.args(function.nodes[at])[0].node == value;
      return is_image ? std::optional(at) : std::nullopt;
    }
    const Call* call = call_at(function, at);
    const bool passes_on = call != nullptr && (call->op->kind == FusionKind::kElementwise ||
                                               call->op->kind == FusionKind::kBroadcast);
    if (!passes_on) return std::nullopt;
    value = at;
  }
  return std::nullopt;
}

}  // namespace

bool is_in_chain(const te::Site& site) {
  const Function& function = *site.function;
  if (!is_conv(function, site.node) || site.outputs[0]->dtype != DType::kF32) return false;
  const std::optional<uint32_t> next = next_conv(function, site.node);
  if (next && is_depthwise(function, site.node) != is_depthwise(function, *next)) return true;
  const uint32_t first = site.node < kMostNodes ? 0 : site.node - kMostNodes;
  for (uint32_t node = first; node < site.node; ++node) {
    if (is_conv(function, node) && next_conv(function, node) == site.node)
      return is_depthwise(function, node) != is_depthwise(function, site.node);
  }
  return false;
}

}  // namespace byoc::llvm_plugin::chain
