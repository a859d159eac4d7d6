// SPDX-License-Identifier: Apache-2.0
// Makes products and sums of dequantized operands ops on integers, and products and convolutions in
// i32 of bytes (exact.cc), for default codegens that list these ops.
//   before: %1 = dequantize(%0, %xs, %xz)      with %w: i8 and %b: f32 constants
//           %2 = dequantize(%w, %ws)
//           %3 = conv2d(%1, %2)
//           %4 = add(%3, %b)
//           %5 = quantize(%4, %ys, %yz)
//   after:  %1 = conv2d_integers(%0, %w) {pad_value=xz}
//           %2 = add(%1, %start)                the bias in steps of the sums, zero points
//           %3 = requantize(%2, %factors) {max=255, min=0, to=u8, zero_point=yz}
// Products with constant matrices of few bits read them as they are stored (stored_weights.h).
// Plugins whose patterns match such ops come before: a match is a composite by now.
#include <algorithm>

#include "byoc/host/plugins.h"
#include "byoc/pass/codegen.h"
#include "core/codegen/integers/exact.h"
#include "core/codegen/integers/products.h"
#include "core/codegen/integers/stored_weights.h"
#include "core/codegen/integers/sums.h"

namespace byoc {
namespace {

struct WantedOps {
  integers::Wanted integers;
  integers::WantedStored stored;
};

// Returns the ops that the first default codegen lists.
Result<WantedOps> wanted_ops(const PassContext& context) {
  WantedOps out;
  if (context.defaults.empty() || !context.plugins) return out;
  const Plugin* plugin = context.plugins->find(context.defaults[0]);
  if (plugin == nullptr) return out;  // fuse_ops reports it
  BYOC_TRY(std::vector<WantedLayout> rows, plugin->layouts(context.target_json));
  for (const WantedLayout& row : rows) {
    out.integers.convolutions |= row.op == "conv2d_integers";
    out.integers.products |= row.op == "matmul_integers";
    out.integers.sums |= row.op == "add_integers";
    out.stored.blocks |= row.op == "matmul_blocks";
    out.stored.widened |= row.op == "matmul_widened";
  }
  return out;
}

bool is_plain(const Function& function) {
  return !function.attrs.has("composite") && !function.attrs.has("primitive") &&
         !function.attrs.has("compiler");
}

bool has_dequantize(const Function& function) {
  return std::ranges::any_of(function.nodes, [](const Node& node) {
    auto* call = std::get_if<Call>(&node.kind);
    return call != nullptr && call->op->facts.family == OpFamily::kDequantize;
  });
}

}  // namespace

Result<IRModule> use_integers(IRModule module, const PassContext& context) {
  BYOC_TRY(const WantedOps all, wanted_ops(context));
  const integers::Wanted& wanted = all.integers;
  const bool has_stored = all.stored.blocks || all.stored.widened;
  const bool has_integers = wanted.convolutions || wanted.products || wanted.sums;
  if (!has_integers && !has_stored) return module;
  for (auto& [name, function] : module.functions) {
    if (!is_plain(function)) continue;
    if (has_stored) function = integers::with_stored_weights(function, *context.ops, all.stored);
    if (wanted.products || wanted.convolutions)
      function = integers::with_exact_products(module, function, *context.ops, wanted);
    if (!has_integers || !has_dequantize(function)) continue;
    BYOC_TRY(function, integers::with_integer_products(module, function, *context.ops, wanted));
    if (wanted.sums) {
      BYOC_TRY(function, integers::with_integer_sums(module, function, *context.ops));
    }
  }
  return module;
}

}  // namespace byoc
