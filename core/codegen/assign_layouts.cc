// SPDX-License-Identifier: Apache-2.0
// Stores tensors between convolutions of the default codegens with their channels in blocks, and
// adds a layout_transform wherever a tensor in blocks is read as a plain one or the reverse.
//   before: %0 = conv2d(%x, %w)
//           %1 = relu(%0)
//           %2 = conv2d(%1, %v)
//   after:  %0 = conv2d_nchwc(%x, %w)
//           %1 = relu(%0)
//           %2 = conv2d_nchwc(%1, %v)
//           %3 = layout_transform(%2) {src_layout="NCHW8c", dst_layout="NCHW"}
// Weights are transformed into the blocks that kernels read; constant weights are folded later.
// Convolutions and products of f16 and bf16 become those of f32, whose results are rounded once:
// cast(conv2d_nchwc(cast(%x), %w)). A product of few rows keeps its matrix, as reading it takes all
// the time.
// Convolutions whose channels no block divides may get more of them before (fill/fill_channels.h).
// Types are plain: a tensor [n, c, h, w] in blocks is [n, c / 8, h, w, 8].
//
// Each plugin lists its block sizes (Plugin::layouts). An op belongs to the first default codegen
// that takes it, rewritten or as it is. It is rewritten only if that plugin takes each of the new
// ops; otherwise it stays plain.
#include <algorithm>

#include "byoc/ir/visit.h"
#include "byoc/pass/codegen.h"
#include "core/codegen/block_ops.h"
#include "core/codegen/fill/fill_channels.h"

namespace byoc {
namespace {

// Returns one entry per default codegen, in order, up to the last one that lists blocks.
Result<std::vector<WantedBlocks>> wanted_blocks(const PassContext& context) {
  std::vector<WantedBlocks> out;
  size_t used = 0;
  for (const std::string& id : context.defaults) {
    const Plugin* plugin = context.plugins ? context.plugins->find(id) : nullptr;
    if (plugin == nullptr) continue;  // fuse_ops reports it
    BYOC_TRY(std::vector<WantedLayout> rows, plugin->layouts(context.target_json));
    WantedBlocks wanted{plugin, {}, {}};
    for (const WantedLayout& row : rows) {
      if (row.op == "conv2d") wanted.image.push_back(row.block);
      if (row.op == "matmul") wanted.matrix.push_back(row.block);
    }
    const bool lists_any = !wanted.image.empty() || !wanted.matrix.empty();
    out.push_back(std::move(wanted));
    if (lists_any) used = out.size();
  }
  out.erase(out.begin() + static_cast<ptrdiff_t>(used), out.end());
  return out;
}

std::vector<int64_t> image_blocks(std::span<const WantedBlocks> plugins) {
  std::vector<int64_t> out;
  for (const WantedBlocks& wanted : plugins)
    out.insert(out.end(), wanted.image.begin(), wanted.image.end());
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

bool rewrite_node(BlockedFunction& to, uint32_t node, const UseCounts& uses,
                  std::span<const WantedBlocks> plugins, Judge& judge) {
  auto* call = std::get_if<Call>(&to.from().nodes[node].kind);
  if (call == nullptr || call->op->is_annotation) return false;
  for (const WantedBlocks& wanted : plugins) {
    to.begin(*wanted.plugin);
    const bool has_form = block_op(to, wanted, node);
    if (to.commit() && has_form) return true;
    const bool is_last = &wanted == &plugins.back();
    if (is_last || judge.takes(*wanted.plugin, to.from(), uses, node).accept != Verdict::kNo)
      return false;
  }
  return false;
}

Function in_blocks(const Function& function, std::span<const WantedBlocks> plugins,
                   const OpRegistry& ops, Judge& judge) {
  BlockedFunction to(function, image_blocks(plugins), ops, judge);
  const UseCounts uses(function);
  for (uint32_t node = 0; node < function.nodes.size(); ++node) {
    if (!rewrite_node(to, node, uses, plugins, judge)) to.copy(node);
  }
  return std::move(to).finish();
}

// Returns the blocks of the first default codegen that lists some, the preferred one first.
std::span<const int64_t> first_blocks(std::span<const WantedBlocks> plugins) {
  auto at = std::ranges::find_if(plugins, [](const WantedBlocks& w) { return !w.image.empty(); });
  return at == plugins.end() ? std::span<const int64_t>() : at->image;
}

bool is_plain(const Function& function) {
  return !function.attrs.has("composite") && !function.attrs.has("primitive") &&
         !function.attrs.has("compiler");
}

}  // namespace

Result<IRModule> assign_layouts(IRModule module, const PassContext& context) {
  BYOC_TRY(std::vector<WantedBlocks> plugins, wanted_blocks(context));
  if (plugins.empty()) return module;
  Judge judge(module, context);
  const FillOptions fill{first_blocks(plugins), (context.compile_flags & BYOC_STRICT_FP) != 0};
  for (auto& [name, function] : module.functions) {
    if (!is_plain(function)) continue;
    if (!fill.blocks.empty()) {
      BYOC_TRY(function, fill_channels(module, function, fill, *context.ops));
    }
    function = in_blocks(function, plugins, *context.ops, judge);
  }
  return module;
}

}  // namespace byoc
