// SPDX-License-Identifier: Apache-2.0
#include "core/codegen/compile_input.h"

#include <unordered_set>

#include "byoc/compile.h"
#include "byoc/te/module.h"
#include "core/codegen/request/input_of.h"
#include "core/region/judge.h"

namespace byoc {

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

Status check_static(const Function& function, Symbol name) {
  for (const Node& node : function.nodes) {
    for (size_t k = 0; k < node.types.size(); ++k) {
      if (is_static(at_bounds(node.types[k]->shape))) continue;
      return invalid(cat("@", name, " has a value of type ", node.types[k],
                         "; code generation needs numbers"))
          .with_slug("symbolic-shape")
          .with_help("bind the sizes, as in --shape N=1");
    }
  }
  return {};
}

CompileFunction compile_input(const IRModule& module, Symbol name) {
  return input_of(module, module.function(name), name);
}

}  // namespace byoc
