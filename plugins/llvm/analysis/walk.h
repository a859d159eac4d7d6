// SPDX-License-Identifier: Apache-2.0
#pragma once
// Walks over every expression of a statement, shared ones once per statement.
#include <unordered_set>

#include "byoc/ir/visit.h"
#include "byoc/te/stmt.h"

namespace byoc::llvm_plugin {

using Seen = std::unordered_set<const te::ExprNode*>;

/// Calls visit(node) for `x` and all nodes below it that are not in `seen` yet; operands last.
template <class Visit>
void walk_expr(const te::Expr& x, Seen& seen, Visit&& visit) {
  if (x.is_empty() || !seen.insert(&*x).second) return;
  visit(x);
  auto into = [&](const te::Expr& inner) { walk_expr(inner, seen, visit); };
  std::visit(overloaded{
                 [](const te::IntImm&) {},
                 [](const te::FloatImm&) {},
                 [](const te::VarRef&) {},
                 [&](const te::Unary& v) { into(v.x); },
                 [&](const te::Binary& v) { into(v.a), into(v.b); },
                 [&](const te::Select& v) { into(v.condition), into(v.yes), into(v.no); },
                 [&](const te::Cast& v) { into(v.x); },
                 [&](const te::Bitcast& v) { into(v.x); },
                 [&](const std::shared_ptr<const te::Load>& v) {
                   for (const te::Expr& index : v->indices) into(index);
                 },
             },
             x->kind);
}

/// Calls visit for the expressions of `node` itself, not for those of statements inside it.
template <class Visit>
void for_each_expr(const te::StmtNode& node, Visit&& visit) {
  std::visit(overloaded{
                 [&](const te::For& v) { visit(v.begin), visit(v.extent); },
                 [&](const te::Store& v) {
                   for (const te::Expr& index : v.indices) visit(index);
                   visit(v.value);
                 },
                 [&](const te::If& v) { visit(v.condition); },
                 [&](const te::Let& v) { visit(v.value); },
                 [&](const te::Alloc&) {},
                 [&](const te::Block&) {},
                 [&](const te::Intrinsic& v) {
                   for (const te::Place& place : v.places) {
                     for (const te::Expr& index : place.indices) visit(index);
                   }
                   for (const te::Expr& arg : v.args) visit(arg);
                 },
             },
             node.kind);
}

template <class Visit>
void for_each_inner(const te::StmtNode& node, Visit&& visit) {
  auto into = [&](const te::Stmt& inner) {
    if (!inner.is_empty()) visit(inner);
  };
  std::visit(overloaded{
                 [&](const te::For& v) { into(v.body); },
                 [](const te::Store&) {},
                 [&](const te::If& v) { into(v.yes), into(v.no); },
                 [&](const te::Let& v) { into(v.body); },
                 [&](const te::Alloc& v) { into(v.body); },
                 [&](const te::Block& v) {
                   for (const te::Stmt& inner : v.stmts) into(inner);
                 },
                 [](const te::Intrinsic&) {},
             },
             node.kind);
}

}  // namespace byoc::llvm_plugin
