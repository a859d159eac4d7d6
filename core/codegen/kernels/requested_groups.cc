// SPDX-License-Identifier: Apache-2.0
#include "core/codegen/kernels/requested_groups.h"

#include <algorithm>
#include <optional>

#include "core/codegen/request/input_of.h"

namespace byoc {
namespace {

/// The ops that a plugin has in open regions, as a function of their own.
struct OpenOps {
  Function function;
  std::vector<uint32_t> nodes;  // of the whole function, in the order of the graph's nodes
};

/// Copies the open ops of a plugin. Values of other nodes become parameters, constants are copied,
/// and values that others read are results.
class OpenOpsCopier {
 public:
  OpenOpsCopier(const Function& function, const Annotations& annotations, Symbol plugin)
      : function_(function), annotations_(annotations), plugin_(plugin) {
    first_.reserve(function.nodes.size() + 1);
    for (const Node& node : function.nodes)
      first_.push_back(first_.back() + static_cast<uint32_t>(node.types.size()));
    now_.resize(first_.back());
    is_read_elsewhere_.resize(first_.back());
  }
  OpenOps run();

 private:
  size_t slot(ValueId value) const { return first_[value.node] + value.output; }
  bool is_open(uint32_t node) const {
    const uint32_t region = annotations_.region_of[node];
    return region != kOutside && annotations_.regions[region].open &&
           annotations_.regions[region].compiler == plugin_;
  }
  void find_readers();
  void add_params(uint32_t node);
  void add_op(uint32_t node);

  const Function& function_;
  const Annotations& annotations_;
  Symbol plugin_;
  std::vector<uint32_t> first_ = {0};        // of each node, into the arrays by value
  std::vector<std::optional<ValueId>> now_;  // per value: in the copy
  std::vector<uint8_t> is_read_elsewhere_;   // per value
  std::vector<ValueId> args_;                // of the node being copied
  OpenOps out_;
};

void OpenOpsCopier::find_readers() {
  auto mark = [&](ValueId arg) {
    is_read_elsewhere_[slot(through_annotations(function_, arg))] = 1;
  };
  for (uint32_t node = 0; node < function_.nodes.size(); ++node) {
    if (is_open(node) || is_annotation(function_.nodes[node])) continue;
    for (ValueId arg : function_.args(function_.nodes[node])) mark(arg);
  }
  for (ValueId result : function_.results) mark(result);
}

void OpenOpsCopier::add_params(uint32_t node) {
  for (ValueId arg : function_.args(function_.nodes[node])) {
    const ValueId value = through_annotations(function_, arg);
    const bool is_constant = std::holds_alternative<Constant>(function_.nodes[value.node].kind);
    std::optional<ValueId>& now = now_[slot(value)];
    if (is_open(value.node) || is_constant || now) continue;
    now = {out_.function.add_param(cat("i", out_.function.num_params()), function_.type(value)), 0};
  }
}

void OpenOpsCopier::add_op(uint32_t node) {
  args_.clear();
  for (ValueId arg : function_.args(function_.nodes[node])) {
    const ValueId value = through_annotations(function_, arg);
    std::optional<ValueId>& now = now_[slot(value)];
    if (!now) {  // not an op before this one, and no parameter
      const Node& constant = function_.nodes[value.node];
      now = {out_.function.add_constant(std::get<Constant>(constant.kind).data,
                                        function_.type(value), constant.loc),
             0};
    }
    args_.push_back(*now);
  }
  const uint32_t copy = out_.function.add_copy(function_.nodes[node], args_);
  for (uint32_t k = 0; k < function_.nodes[node].types.size(); ++k) {
    now_[slot({node, k})] = {copy, k};
    if (is_read_elsewhere_[slot({node, k})]) out_.function.results.push_back({copy, k});
  }
  out_.nodes.push_back(node);
}

OpenOps OpenOpsCopier::run() {
  find_readers();
  const auto n = static_cast<uint32_t>(function_.nodes.size());
  for (uint32_t node = 0; node < n; ++node) {
    if (is_open(node)) add_params(node);
  }
  for (uint32_t node = 0; node < n; ++node) {
    if (is_open(node)) add_op(node);
  }
  return std::move(out_);
}

/// Returns the plugins with the slot and an open region, in order of their first ops.
std::vector<const Plugin*> plugins_with_slot(const Annotations& annotations,
                                             const PassContext& context) {
  std::vector<Symbol> seen;
  std::vector<const Plugin*> out;
  for (const Region& region : annotations.regions) {
    if (!region.open || std::ranges::find(seen, region.compiler) != seen.end()) continue;
    seen.push_back(region.compiler);
    const Plugin* plugin = context.plugins ? context.plugins->find(region.compiler.str()) : nullptr;
    if (plugin != nullptr && plugin->has_partition()) out.push_back(plugin);
  }
  return out;
}

}  // namespace

Result<std::vector<KernelGroup>> requested_groups(const IRModule& module, const Function& function,
                                                  const Annotations& annotations, Symbol name,
                                                  const PassContext& context) {
  std::vector<KernelGroup> out;
  for (const Plugin* plugin : plugins_with_slot(annotations, context)) {
    const Symbol id = plugin->id();
    const OpenOps open = OpenOpsCopier(function, annotations, id).run();
    Result<std::vector<PluginGroup>> groups = plugin->partition(
        input_of(module, open.function, name), open.nodes.size(),
        {context.target_json, context.threads, context.compile_flags, context.cancel});
    if (!groups.ok()) return std::move(groups.status()).at(cat("@", name));
    for (PluginGroup& group : *groups) {
      for (uint32_t& node : group.nodes) node = open.nodes[node];
      std::ranges::sort(group.nodes);
      out.push_back({std::move(group.name), id, std::move(group.nodes)});
    }
  }
  return out;
}

}  // namespace byoc
