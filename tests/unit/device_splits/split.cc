// SPDX-License-Identifier: Apache-2.0
#include "split.h"

#include <gtest/gtest.h>

#include <cstring>

#include "byoc/ir/visit.h"
#include "byoc/op/annotation.h"
#include "support/paths.h"

namespace byoc::test {
namespace {

const Attrs* region(int64_t number) {
  Attrs attrs;
  attrs.set("compiler", std::string("sim"));
  attrs.set("region", number);
  attrs.set("open", true);
  return intern(std::move(attrs));
}

bool is_op(const Node& node) {
  return std::holds_alternative<Call>(node.kind) && !is_annotation(node);
}

/// Puts annotations around the chosen ops of a function.
Function annotated(const Function& from, const std::function<bool(size_t)>& is_on_sim,
                   size_t& next) {
  const OpDef *begin = all_ops().find("compiler_begin"), *end = all_ops().find("compiler_end");
  Function out;
  out.attrs = from.attrs;
  std::map<ValueId, ValueId> values;
  int64_t number = 0;
  for (uint32_t k = 0; k < from.nodes.size(); ++k) {
    const Node& node = from.nodes[k];
    const bool chosen = is_op(node) && is_on_sim(next++);
    std::vector<ValueId> args;
    for (ValueId arg : from.args(node)) {
      ValueId mapped = values.at(arg);
      if (chosen && !std::holds_alternative<Constant>(from.nodes[arg.node].kind))
        mapped = {out.add_call(begin, region(number), {&mapped, 1}, {from.type(arg)}), 0};
      args.push_back(mapped);
    }
    const uint32_t fresh = out.add_copy(node, args);
    for (uint32_t r = 0; r < node.types.size(); ++r) {
      ValueId value{fresh, r};
      if (chosen) value = {out.add_call(end, region(number), {&value, 1}, {node.types[r]}), 0};
      values[{k, r}] = value;
    }
    if (chosen) ++number;
  }
  for (ValueId result : from.results) out.results.push_back(values.at(result));
  return out;
}

std::vector<Symbol> functions_of(const IRModule& module) {
  Result<std::vector<Symbol>> order = callees_first(module, module.entry);
  EXPECT_TRUE(order.ok());
  return *order;
}

}  // namespace

std::shared_ptr<const PluginSet> sim_plugins(std::map<std::string, std::string> options,
                                             const std::string& wraps) {
  PluginSearch search;
  search.files = {cat(BYOC_BUILD_DIR, "/tests/sim/libbyoc_sim.so")};
  search.folders = {BYOC_PLUGIN_DIR};
  if (!options.contains("wraps"))
    options["wraps"] = cat(BYOC_PLUGIN_DIR, "/libbyoc_", wraps, ".so");
  search.options["sim"] = std::move(options);
  search.ids = std::set<std::string>{"sim", "json", "llvm"};
  auto plugins = PluginSet::load(search);
  for (const RefusedPlugin& refused : plugins->refused())
    if (refused.id == "sim") ADD_FAILURE() << refused.path << ": " << refused.reason;
  return plugins;
}

IRModule simplified(IRModule module, const std::shared_ptr<const PluginSet>& plugins) {
  const PassContext context = context_of(module, plugins, {"json"});
  for (const std::string& pass : clean_up_passes()) module = run(std::move(module), pass, context);
  return module;
}

size_t count_ops(const IRModule& module) {
  size_t ops = 0;
  for (Symbol name : functions_of(module))
    for (const Node& node : module.function(name).nodes) ops += is_op(node) ? 1 : 0;
  return ops;
}

Executable split(const IRModule& simplified, const std::function<bool(size_t)>& is_on_sim,
                 const std::shared_ptr<const PluginSet>& plugins, const std::string& host) {
  IRModule module = simplified;
  size_t next = 0;
  for (Symbol name : functions_of(module))
    module.function(name) = annotated(module.function(name), is_on_sim, next);
  const PassContext context = context_of(module, plugins, {"sim", host});
  module = run(std::move(module),
               "merge_compiler_regions,partition_graph,inline_functions,fuse_ops,run_codegen,"
               "inline_functions,eliminate_dead_code,copy_to_devices,plan_memory",
               context);
  Result<Executable> out = make_executable(module);
  EXPECT_TRUE(out.ok()) << out.status().to_string();
  return out.ok() ? *std::move(out) : Executable();
}

CopiedBytes copied_bytes(const Program& program) {
  CopiedBytes out;
  for (const Step& step : program.steps) {
    if (step.module != Step::kDeviceCopy) continue;
    const bool goes_in = step.args[1].kind == Place::kDevice;
    (goes_in ? out.in : out.out) += static_cast<uint64_t>(*size_bytes(step.types[0]));
  }
  return out;
}

void expect_same_bytes(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t k = 0; k < a.size(); ++k) {
    ASSERT_EQ(a[k].spec(), b[k].spec());
    EXPECT_EQ(std::memcmp(a[k].data(), b[k].data(), b[k].size_bytes()), 0) << "output " << k;
  }
}

}  // namespace byoc::test
