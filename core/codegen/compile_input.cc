// SPDX-License-Identifier: Apache-2.0
#include "core/codegen/compile_input.h"

#include <algorithm>
#include <unordered_set>

#include "byoc/compile.h"
#include "byoc/te/module.h"
#include "byoc/text/graph_json.h"
#include "core/region/judge.h"

namespace byoc {
namespace {

TensorSpec spec_of(const TensorType& type) { return {type.dtype, static_extents(type.shape)}; }

bool gives_counted(const Function& function) {
  return std::any_of(function.results.begin(), function.results.end(),
                     [&](ValueId result) { return has_counted(function.type(result)->shape); });
}

}  // namespace

CompileFunction input_of(const IRModule& module, const Function& function, Symbol name) {
  CompileFunction out;
  out.symbol = name.str();
  write_graph_json(module, function, name, out.graph_json);
  for (const ConstantRef& constant : graph_constants(module, function)) {
    out.constants.push_back(
        {cat("c", out.constants.size()), constant.key, spec_of(*constant.type)});
    out.buffers.push_back(module.constants.at(constant.key));
  }
  out.n_in = static_cast<uint32_t>(function.num_params());
  out.n_out = static_cast<uint32_t>(function.results.size());
  out.gives_counted = gives_counted(function);
  return out;
}

bool is_region(const IRModule& module, Symbol name, const Function& function) {
  return function.attrs.has("compiler") && name != module.entry && !function.attrs.has("composite");
}

std::vector<Symbol> all_locs(const IRModule& module, const Function& function) {
  std::vector<Symbol> out;
  if (te::has_loops(function)) {  // the attribute is there when they were made of ops
    for (const std::string& loc : function.attrs.strings("locs")) out.push_back(loc);
    return out;
  }
  std::unordered_set<uint32_t> seen;
  for (const Node& node : function.nodes) {
    if (std::holds_alternative<Param>(node.kind) || std::holds_alternative<Constant>(node.kind))
      continue;
    for (Symbol loc : op_locs(module, node)) {
      if (seen.insert(loc.id()).second) out.push_back(loc);
    }
  }
  return out;
}

CompileFunction compile_input(const IRModule& module, Symbol name) {
  return input_of(module, module.function(name), name);
}

}  // namespace byoc
