// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions that the clean-up passes share: which functions they may change, and the replacement of
// parameters by constants.
#include <map>
#include <set>

#include "byoc/ir/visit.h"
#include "byoc/op/annotation.h"

namespace byoc::simplify {

/// The elements of a matrix that is worth its narrow form: it stays until plugins have chosen.
inline constexpr int64_t kLeastStored = 4096;

inline bool is_constant(const Node& node) { return std::holds_alternative<Constant>(node.kind); }
/// Returns true when the body must stay as it is, because a plugin relies on it: captures name its
/// nodes, or it is a region of the partition.
inline bool is_settled(const Function& function) {
  return function.attrs.has("composite") || function.attrs.has("primitive");
}
/// Returns true when the function is called as a unit: it is never inlined into its callers.
inline bool is_unit(const Function& function) {
  return is_settled(function) || function.attrs.has("compiler");
}

/// Removes every function that is not in `keep`.
void keep_functions(IRModule& module, const std::vector<Symbol>& keep);

/// Returns the function without nodes that no result depends on. Parameters, annotations and ops
/// that read a compiler_begin stay. Cost: O(nodes + operands).
Function without_dead_nodes(Function function);

/// Makes names for copies of functions: `base_1`, `base_2`, ... A name is neither a function of the
/// module at construction, nor an external symbol, nor one returned before.
/// Cost: nearly constant per name.
class FreshNames {
 public:
  explicit FreshNames(const IRModule& module);
  Symbol next(Symbol base);

 private:
  std::set<Symbol> taken_;
  std::map<Symbol, int> last_;
};
/// Updates the attributes of a copy that is now called `name`.
void rename(Function& copy, Symbol name);

/// Adds constants to one function, each distinct one once. Borrows the module and the function.
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

/// Parameters, by their number, with the constants that replace them.
using BoundParams = std::map<uint32_t, std::pair<const Buffer*, TypeId>>;
/// Returns `function` without the bound parameters; their readers read constants. Constants are
/// never wrapped, so a compiler_begin on a bound parameter is removed too.
Function bind_parameters(const Function& function, const BoundParams& bound);

}  // namespace byoc::simplify
