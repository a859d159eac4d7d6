// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the clean-up passes share: which functions they may touch, and rewriting parameters away.
#include <map>
#include <set>

#include "byoc/ir/visit.h"
#include "byoc/op/annotation.h"

namespace byoc::simplify {

inline bool is_constant(const Node& node) { return std::holds_alternative<Constant>(node.kind); }
/// A plugin has been promised this body as it is: captures name its nodes, or a region was cut.
inline bool is_settled(const Function& function) {
  return function.attrs.has("composite") || function.attrs.has("primitive");
}
/// Called as a unit: its body is not taken apart into its callers.
inline bool is_unit(const Function& function) {
  return is_settled(function) || function.attrs.has("compiler");
}

/// Drops every function that is not in `keep`.
void keep_functions(IRModule& module, const std::vector<Symbol>& keep);

/// Names for copies of functions: `base_1`, `base_2`, ... that are neither functions of the module
/// as it was, nor external symbols, nor given before. Near constant time each.
class FreshNames {
 public:
  explicit FreshNames(const IRModule& module);
  Symbol next(Symbol base);

 private:
  std::set<Symbol> taken_;
  std::map<Symbol, int> last_;
};
/// What a copy that is now called `name` must say about itself.
void rename(Function& copy, Symbol name);

/// Adds constants to one function, each distinct one once. Borrows both.
class ConstantNodes {
 public:
  ConstantNodes(IRModule& module, Function& to) : module_(module), to_(to) {}
  ValueId add(std::shared_ptr<const Buffer> data, TypeId type, Symbol loc = {});

 private:
  IRModule& module_;
  Function& to_;
  std::map<std::pair<ContentKey, uint32_t>, uint32_t> nodes_;
};

/// Returns the attribute `input_names`, the user's names of the parameters; empty when it is absent
/// or is not a list of strings (byoc opt --set makes it a string).
Strings input_names_of(const Function& function);

/// A parameter, by its number, and the constant it becomes.
using BoundParams = std::map<uint32_t, std::pair<const Buffer*, TypeId>>;
/// `function` without the bound parameters; what read them reads constants. Constants are never
/// wrapped, so a compiler_begin on a bound parameter goes with it.
Function bind_parameters(const Function& function, const BoundParams& bound);

}  // namespace byoc::simplify
