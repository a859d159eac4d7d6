// SPDX-License-Identifier: Apache-2.0
#include "core/conform/examples/example_functions.h"

#include <algorithm>
#include <unordered_set>

#include "byoc/compile.h"
#include "core/region/function_key.h"
#include "core/region/inline_call.h"

namespace byoc::conform {
namespace {

// Returns the model with the functions of the plugin: its regions, or those that a default codegen
// gets, which is the only one there.
Result<IRModule> partitioned(const LoadedPlugin& tested, const IRModule& model) {
  BuildOptions options;
  options.plugins = tested.set;
  options.compilers = {tested.plugin->id()};
  BYOC_TRY(const PassContext context, make_context(model, options));
  BYOC_TRY_STATUS(check_static_inputs(model));
  const char* last = tested.plugin->is_default_codegen() ? "fuse_ops" : "partition_graph";
  BYOC_TRY(const std::vector<Pass> passes, Pipeline::until(last, context));
  return run_passes(model, passes, context);
}

bool has_numbers(const Function& function) {
  for (const Node& node : function.nodes) {
    for (size_t k = 0; k < node.types.size(); ++k) {
      if (!is_static(node.types[k]->shape)) return false;
    }
  }
  return true;
}

bool is_of_plugin(const IRModule& module, Symbol name, const Function& function,
                  const std::string& plugin) {
  return name != module.entry && function.attr("compiler") == plugin &&
         !function.attrs.has("composite") && !function.attrs.has("loops") && has_numbers(function);
}

// Returns a module whose `main` is this function.
IRModule as_main(const IRModule& module, Function function) {
  IRModule out;
  out.entry = "main";
  function.attrs = {};
  for (const auto& [name, other] : module.functions) {
    if (other.attrs.has("composite")) out.functions.emplace(name, other);
  }
  for (const Node& node : function.nodes) {
    if (auto* constant = std::get_if<Constant>(&node.kind))
      out.constants.emplace(constant->data->key(), module.constants.at(constant->data->key()));
  }
  out.functions.insert_or_assign("main", std::move(function));
  drop_uncalled_composites(out);
  return out;
}

}  // namespace

Result<std::vector<ExampleFunction>> example_functions(const LoadedPlugin& tested,
                                                       const Example& example, size_t count) {
  BYOC_TRY(const IRModule module, partitioned(tested, example.module));
  std::vector<ExampleFunction> out;
  std::unordered_set<std::string> seen;
  for (const auto& [name, function] : module.functions) {
    if (!is_of_plugin(module, name, function, tested.plugin->id())) continue;
    if (out.size() == count || !seen.insert(region_key(module, function)).second) continue;
    ExampleFunction one{cat(example.name, ": ", name),
                        as_main(module, inline_composites_in(module, function, {})),
                        as_main(module, function),
                        {}};
    for (const auto& [composite, body] : one.compiled.functions) {
      if (body.attrs.has("composite")) one.names.insert(body.attr("composite"));
    }
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace byoc::conform
