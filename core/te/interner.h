// SPDX-License-Identifier: Apache-2.0
#pragma once
// Interns expressions: afterwards equal expressions are the same node.
#include <unordered_map>
#include <unordered_set>

#include "byoc/te/stmt.h"

namespace byoc::te {

class Interner {
 public:
  /// Returns the node of `x`. Nodes that are interned already cost nothing.
  Expr operator()(const Expr& x);

 private:
  std::unordered_set<const void*> interned_;
  std::unordered_multimap<size_t, Expr> nodes_;                    // by hash
  std::unordered_map<const void*, std::pair<Expr, Expr>> others_;  // node -> itself, its equal
};

}  // namespace byoc::te
