// SPDX-License-Identifier: Apache-2.0
#pragma once
// Makes composite functions of matches, for passes that choose which matches to form.
#include <unordered_map>

#include "byoc/pass/pass.h"
#include "byoc/pass/pattern.h"

namespace byoc {

/// The composite functions of a module. Equal bodies (with their locations) share one function.
class CompositePool {
 public:
  explicit CompositePool(IRModule& module) : module_(module) {}
  Symbol add(const std::string& composite, Function body);
  /// Returns true when the body that was added last was new.
  bool is_last_new() const { return is_last_new_; }
  /// Removes the body that was added last, which was new, when its plugin refuses it.
  void drop_last();

 private:
  Symbol fresh_name(const std::string& base);
  IRModule& module_;
  using ByKey = std::unordered_map<std::string, Symbol>;
  ByKey by_key_;
  ByKey::iterator last_;
  bool is_last_new_ = false;
  std::unordered_map<std::string, uint32_t> next_;
};

/// Returns the body of a match, with the attributes `composite`, `captures` and `owner`. Its
/// parameters are the inputs of the match.
Function composite_body(const Function& function, const Match& match, const std::string& composite,
                        const std::string& owner);
/// Returns a function whose last node calls `composite` on operands like the inputs of the match:
/// constants stay constants, other inputs are parameters.
Function composite_call(const Function& function, const Match& match, Symbol composite);

/// The call that replaces the root of a match.
struct FormedComposite {
  Symbol composite;
  std::vector<ValueId> inputs;
};
/// Returns the function with these calls in the places of their roots. `is_dropped` has the other
/// ops of the matches; their values have no other reader.
Function with_composites(const Function& function,
                         const std::unordered_map<uint32_t, FormedComposite>& by_root,
                         const std::vector<uint8_t>& is_dropped);

/// Returns whether the node, or an op of the composite that it calls, reads or gives a value with
/// counted dims.
bool has_counted_values(const IRModule& module, const Function& function, uint32_t node);
/// Returns true when the op, or an op of the composite, reads or gives a value with an open dim
/// that has a bound: a program of such a size is compiled for all of them.
bool has_open_values(const IRModule& module, const Function& function, uint32_t node);

}  // namespace byoc
