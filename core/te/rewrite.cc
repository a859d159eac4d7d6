// SPDX-License-Identifier: Apache-2.0
#include "byoc/te/rewrite.h"

namespace byoc::te {

Expr Substitution::operator()(const Expr& x) {
  if (const VarRef* ref = std::get_if<VarRef>(&x->kind)) {
    auto value = values_.find(ref->var.id());
    return value == values_.end() ? x : value->second;
  }
  auto known = done_.find(&*x);
  if (known != done_.end()) return known->second.second;
  Expr result = map_operands(x, *this);
  done_.emplace(&*x, std::pair(x, result));
  return result;
}

}  // namespace byoc::te
