// SPDX-License-Identifier: Apache-2.0
// Lets images cross the borders of regions in blocks of channels (docs/placement.md, "Layouts at
// borders"): a layout_transform next to a region moves into it when its plugin lists these blocks.
//   before: fn main(%x) {
//             %0 = @onednn_main_0(%x)
//             %1 = layout_transform(%0) {src_layout="NCHW", dst_layout="NCHW8c"}
//             %2 = conv2d_nchwc(%1, ...)
//           }
//           fn onednn_main_0(%i0) { %0 = @onednn_conv2d_0(%i0)  return %0 }
//   after:  fn main(%x) {
//             %0 = @onednn_main_0(%x)
//             %1 = conv2d_nchwc(%0, ...)
//           }
//           fn onednn_main_0(%i0) {
//             %0 = @onednn_conv2d_0(%i0)
//             %1 = layout_transform(%0) {src_layout="NCHW", dst_layout="NCHW8c"}
//             return %1
//           }
// The same holds for operands. A result that is read in several forms leaves in each of them.
#include <algorithm>
#include <map>
#include <set>

#include "byoc/base/check.h"
#include "byoc/pass/codegen.h"
#include "core/region/judge.h"

namespace byoc {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

// The transform of an image [n, c, h, w] into blocks, or the opposite.
struct Transform {
  bool packs = false;
  int64_t block = 0;
};

std::optional<Transform> transform_of(const Node& node) {
  auto* call = std::get_if<Call>(&node.kind);
  if (call == nullptr || call->op->facts.family != OpFamily::kLayoutTransform) return std::nullopt;
  const std::string from = call->attrs->s("src_layout"), to = call->attrs->s("dst_layout");
  const bool packs = from == "NCHW";
  const std::string& packed = packs ? to : from;
  if ((!packs && to != "NCHW") || node.types[0]->shape.empty()) return std::nullopt;
  for (int64_t block : {4, 8, 16, 32, 64}) {
    if (packed == cat("NCHW", block, "c")) return Transform{packs, block};
  }
  return std::nullopt;
}

// The results and operands of a region that change their form.
struct Change {
  std::map<uint32_t, uint32_t> operands;  // operand -> node of the transform into NCHW
  struct Result {
    uint32_t output, node;  // node: the transform into blocks, kNone: the result as it was
    friend auto operator<=>(const Result&, const Result&) = default;
  };
  std::vector<Result> results;  // the new ones, in order
};

class Sharer {
 public:
  Sharer(IRModule& module, const PassContext& context)
      : module_(module), context_(context), judge_(module, context) {
    for (const auto& [name, function] : module.functions) {
      for (const Node& node : function.nodes) {
        if (auto* invoke = std::get_if<Invoke>(&node.kind)) ++calls_[invoke->function];
      }
    }
  }

  Status run(Symbol name) {
    const Function& function = module_.function(name);
    BYOC_TRY_STATUS(find_changes(function));
    if (changes_.empty()) return {};
    for (const auto& [node, change] : changes_) {
      const Symbol callee = std::get<Invoke>(function.nodes[node].kind).function;
      module_.function(callee) = changed_region(function, module_.function(callee), change);
    }
    module_.function(name) = rewritten(function);
    return {};
  }

 private:
  Result<const std::set<int64_t>*> blocks_of(const Plugin& plugin) {
    auto [at, is_new] = blocks_.try_emplace(&plugin);
    if (!is_new) return &at->second;
    BYOC_TRY(std::vector<WantedLayout> rows, plugin.layouts(context_.target_json));
    for (const WantedLayout& row : rows) {
      if (row.op == "image") at->second.insert(row.block);
    }
    return &at->second;
  }

  // Returns the plugin of the region that the node calls, null when it calls none that may change.
  const Plugin* plugin_of(const Node& node) const {
    auto* invoke = std::get_if<Invoke>(&node.kind);
    if (invoke == nullptr || calls_.at(invoke->function) != 1) return nullptr;
    const Function& callee = module_.function(invoke->function);
    if (!callee.attrs.has("compiler") || !callee.attrs.has("primitive") ||
        callee.attrs.has("loops") || context_.plugins == nullptr)
      return nullptr;
    return context_.plugins->find(callee.attr("compiler"));
  }

  // Returns whether the plugin of a region lists the blocks and takes the transform.
  Result<bool> takes(const Plugin& plugin, const Function& function, const UseCounts& uses,
                     uint32_t node, int64_t block) {
    BYOC_TRY(const std::set<int64_t>* blocks, blocks_of(plugin));
    return blocks->contains(block) &&
           judge_.takes(plugin, function, uses, node).accept == Verdict::kYes;
  }

  Status find_changes(const Function& function) {
    changes_.clear();
    moved_.assign(function.nodes.size(), 0);
    const UseCounts uses(function);
    std::vector<uint32_t> left(function.nodes.size());  // readers of a transform that stay
    for (uint32_t node = 0; node < function.nodes.size(); ++node) {
      left[node] = uses.of_node(node);
      BYOC_TRY_STATUS(find_operands(function, uses, node, left));
      const std::optional<Transform> transform = transform_of(function.nodes[node]);
      if (!transform || !transform->packs) continue;
      const ValueId image = function.args(function.nodes[node])[0];
      const Plugin* plugin = plugin_of(function.nodes[image.node]);
      if (plugin == nullptr) continue;
      BYOC_TRY(bool moves, takes(*plugin, function, uses, node, transform->block));
      if (!moves) continue;
      moved_[node] = 1;
      changes_[image.node].results.push_back({image.output, node});
    }
    for (uint32_t node = 0; node < function.nodes.size(); ++node) {
      const std::optional<Transform> transform = transform_of(function.nodes[node]);
      if (transform && !transform->packs && left[node] == 0 && uses.of_node(node) > 0)
        moved_[node] = 1;
    }
    add_other_results(function);
    return {};
  }

  Status find_operands(const Function& function, const UseCounts& uses, uint32_t node,
                       std::vector<uint32_t>& left) {
    const Plugin* plugin = plugin_of(function.nodes[node]);
    if (plugin == nullptr) return {};
    const std::span<const ValueId> args = function.args(function.nodes[node]);
    for (uint32_t k = 0; k < args.size(); ++k) {
      const std::optional<Transform> transform = transform_of(function.nodes[args[k].node]);
      if (!transform || transform->packs) continue;
      BYOC_TRY(bool moves, takes(*plugin, function, uses, args[k].node, transform->block));
      if (!moves) continue;
      changes_[node].operands[k] = args[k].node;
      --left[args[k].node];
    }
    return {};
  }

  // Keeps the results of changed regions that are read as they were, all when none changed.
  void add_other_results(const Function& function) {
    std::set<ValueId> read;
    for (uint32_t node = 0; node < function.nodes.size(); ++node) {
      if (moved_[node] != 0) continue;
      for (ValueId arg : function.args(function.nodes[node])) {
        if (changes_.contains(arg.node)) read.insert(arg);
      }
    }
    for (ValueId result : function.results) {
      if (changes_.contains(result.node)) read.insert(result);
    }
    for (auto& [node, change] : changes_) {
      std::set<uint32_t> changed;
      for (const Change::Result& result : change.results) changed.insert(result.output);
      for (uint32_t k = 0; k < function.nodes[node].types.size(); ++k) {
        if (!changed.contains(k) || read.contains({node, k})) change.results.push_back({k, kNone});
      }
      std::ranges::sort(change.results);
    }
  }

  // Returns the region with transforms of operands at its begin and those of results at its end.
  static Function changed_region(const Function& caller, const Function& region,
                                 const Change& change) {
    Function out;
    out.attrs = region.attrs;
    std::vector<uint32_t> now(region.nodes.size());
    uint32_t params = 0;
    for (; params < region.nodes.size(); ++params) {
      auto* param = std::get_if<Param>(&region.nodes[params].kind);
      if (param == nullptr) break;
      auto changed = change.operands.find(params);
      const TypeId type = changed == change.operands.end()
                              ? region.nodes[params].types[0]
                              : caller.type(caller.args(caller.nodes[changed->second])[0]);
      now[params] = out.add_param(param->name, type);
    }
    for (const auto& [operand, node] : change.operands) {
      const ValueId packed[] = {{now[operand], 0}};
      now[operand] = out.add_copy(caller.nodes[node], packed);
    }
    std::vector<ValueId> args;
    auto value = [&](ValueId old) { return ValueId{now[old.node], old.output}; };
    for (uint32_t node = params; node < region.nodes.size(); ++node) {
      args.clear();
      for (ValueId arg : region.args(region.nodes[node])) args.push_back(value(arg));
      now[node] = out.add_copy(region.nodes[node], args);
    }
    for (const Change::Result& result : change.results) {
      BYOC_CHECK(result.output < region.results.size(), "the region has no result ", result.output);
      const ValueId image[] = {value(region.results[result.output])};
      out.results.push_back(result.node == kNone
                                ? image[0]
                                : ValueId{out.add_copy(caller.nodes[result.node], image), 0});
    }
    return out;
  }

  Function rewritten(const Function& from) const {
    Function out;
    out.attrs = from.attrs;
    std::map<ValueId, ValueId> replaced;  // results of changed regions and moved transforms
    std::vector<uint32_t> now(from.nodes.size());
    std::vector<ValueId> args;
    auto value = [&](ValueId old) {
      auto at = replaced.find(old);
      return at == replaced.end() ? ValueId{now[old.node], old.output} : at->second;
    };
    for (uint32_t node = 0; node < from.nodes.size(); ++node) {
      if (moved_[node] != 0) continue;
      const Node& old = from.nodes[node];
      auto change = changes_.find(node);
      args.clear();
      for (ValueId arg : from.args(old)) args.push_back(arg);
      if (change != changes_.end()) {
        for (const auto& [operand, transform] : change->second.operands) {
          BYOC_CHECK(operand < args.size(), "the region has no operand ", operand);
          args[operand] = from.args(from.nodes[transform])[0];
        }
      }
      for (ValueId& arg : args) arg = value(arg);
      if (change == changes_.end()) {
        now[node] = out.add_copy(old, args);
        continue;
      }
      const Symbol callee = std::get<Invoke>(old.kind).function;
      now[node] = out.add_invoke(callee, args, result_types(callee), old.loc);
      for (uint32_t k = 0; k < change->second.results.size(); ++k) {
        const Change::Result& result = change->second.results[k];
        const ValueId was =
            result.node == kNone ? ValueId{node, result.output} : ValueId{result.node, 0};
        replaced[was] = {now[node], k};
      }
    }
    for (ValueId result : from.results) out.results.push_back(value(result));
    return out;
  }

  std::vector<TypeId> result_types(Symbol callee) const {
    const Function& region = module_.function(callee);
    std::vector<TypeId> out;
    for (ValueId result : region.results) out.push_back(region.type(result));
    return out;
  }

  IRModule& module_;
  const PassContext& context_;
  Judge judge_;
  std::map<Symbol, uint64_t> calls_;
  std::map<const Plugin*, std::set<int64_t>> blocks_;
  std::map<uint32_t, Change> changes_;  // by the node that calls the region
  std::vector<uint8_t> moved_;          // per node: a transform that is in a region now
};

bool is_plain(const Function& function) {
  return !function.attrs.has("composite") && !function.attrs.has("primitive") &&
         !function.attrs.has("compiler");
}

bool has_transform(const Function& function) {
  return std::ranges::any_of(function.nodes,
                             [](const Node& node) { return transform_of(node).has_value(); });
}

}  // namespace

Result<IRModule> share_layouts(IRModule module, const PassContext& context) {
  std::vector<Symbol> names;
  for (const auto& [name, function] : module.functions) {
    if (is_plain(function) && has_transform(function)) names.push_back(name);
  }
  if (names.empty()) return module;
  Sharer sharer(module, context);
  for (Symbol name : names) BYOC_TRY_STATUS(sharer.run(name));
  return module;
}

}  // namespace byoc
