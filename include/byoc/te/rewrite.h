// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rebuilds expressions and statements. A node that several expressions share is rebuilt once, so
// the cost is linear in the number of nodes and not in the size of the tree.
#include <unordered_map>
#include <unordered_set>

#include "byoc/ir/visit.h"
#include "byoc/te/stmt.h"

namespace byoc::te {

/// Returns `x` with each operand replaced by `map` of it; `x` itself when none changes.
template <class Map>
Expr map_operands(const Expr& x, Map&& map) {
  return std::visit(
      overloaded{
          [&](const IntImm&) { return x; },
          [&](const FloatImm&) { return x; },
          [&](const VarRef&) { return x; },
          [&](const Unary& v) {
            Expr a = map(v.x);
            return a.same_as(v.x) ? x : unary(v.op, std::move(a));
          },
          [&](const Binary& v) {
            Expr a = map(v.a), b = map(v.b);
            return a.same_as(v.a) && b.same_as(v.b) ? x : binary(v.op, std::move(a), std::move(b));
          },
          [&](const Select& v) {
            Expr c = map(v.condition), a = map(v.yes), b = map(v.no);
            bool is_same = c.same_as(v.condition) && a.same_as(v.yes) && b.same_as(v.no);
            return is_same ? x : select(std::move(c), std::move(a), std::move(b));
          },
          [&](const Cast& v) {
            Expr a = map(v.x);
            return a.same_as(v.x) ? x : cast(x.dtype(), std::move(a));
          },
          [&](const Bitcast& v) {
            Expr a = map(v.x);
            return a.same_as(v.x) ? x : bitcast(x.dtype(), std::move(a));
          },
          [&](const std::shared_ptr<const Load>& v) {
            bool is_same = true;
            Exprs indices;
            for (const Expr& index : v->indices) {
              indices.push_back(map(index));
              is_same = is_same && indices.back().same_as(index);
            }
            return is_same ? x : v->tensor(std::move(indices));
          },
      },
      x->kind);
}

/// Returns true when `is` is true for a node of `x`; each is looked at once.
template <class Is>
bool any_node(const Expr& x, Is&& is) {
  std::unordered_set<const void*> seen;
  auto look = [&](auto& self, const Expr& node) -> bool {
    if (!seen.insert(&*node).second) return false;
    bool found = is(node);
    map_operands(node, [&](const Expr& operand) {
      found = found || self(self, operand);
      return operand;
    });
    return found;
  };
  return look(look, x);
}

/// Returns `s` with each expression replaced by `expr` of it and each inner statement
/// by `stmt` of it.
template <class MapExpr, class MapStmt>
Stmt map_parts(const Stmt& s, MapExpr&& expr, MapStmt&& stmt) {
  auto list = [&](const Exprs& xs) {
    Exprs out;
    for (const Expr& x : xs) out.push_back(expr(x));
    return out;
  };
  if (s.is_empty()) return s;
  return std::visit(
      overloaded{
          [&](const For& v) {
            return make_for(v.var, expr(v.begin), expr(v.extent), v.kind, stmt(v.body));
          },
          [&](const Store& v) { return make_store(v.tensor, list(v.indices), expr(v.value)); },
          [&](const If& v) { return make_if(expr(v.condition), stmt(v.yes), stmt(v.no)); },
          [&](const Let& v) { return make_let(v.var, expr(v.value), stmt(v.body)); },
          [&](const Alloc& v) { return make_alloc(v.tensor, v.scope, stmt(v.body)); },
          [&](const Block& v) {
            std::vector<Stmt> stmts;
            for (const Stmt& inner : v.stmts) stmts.push_back(stmt(inner));
            return make_block(std::move(stmts));
          },
          [&](const Intrinsic& v) {
            std::vector<Place> places;
            for (const Place& place : v.places)
              places.push_back({place.tensor, list(place.indices)});
            return make_intrinsic(v.name, std::move(places), list(v.args), v.declaration);
          },
      },
      s->kind);
}

/// The replacement of each variable, by Var::id().
using VarMap = std::unordered_map<const void*, Expr>;

/// Replaces variables in any number of expressions. Thread-compatible.
class Substitution {
 public:
  /// Takes the replacements.
  explicit Substitution(VarMap values) : values_(std::move(values)) {}
  Expr operator()(const Expr& x);  ///< Returns `x` with the variables replaced.

 private:
  VarMap values_;
  std::unordered_map<const void*, std::pair<Expr, Expr>> done_;  // node -> itself, its replacement
};

}  // namespace byoc::te
