// Resolving names: expressions and statements -> code.
#include "core/te/evaluate/code.h"

#include "byoc/ir/visit.h"

namespace byoc::te {

uint32_t Compiler::var(const Var& v) {
  auto [at, is_new] = vars_.try_emplace(v.id(), static_cast<uint32_t>(code.vars.size()));
  if (is_new) code.vars.push_back(v.name());
  return at->second;
}

uint32_t Compiler::tensor(const Tensor& t) {
  auto [at, is_new] = tensors_.try_emplace(t.id(), static_cast<uint32_t>(code.tensors.size()));
  if (!is_new) return at->second;
  const uint32_t slot = at->second;
  code.tensors.push_back({t.name(), t.dtype(), 0, static_cast<uint32_t>(t.rank())});
  code.tensors[slot].first = list(t.shape());
  return slot;
}

uint32_t Compiler::list(const Exprs& xs) {
  std::vector<uint32_t> nodes;
  for (const Expr& x : xs) nodes.push_back(expr(x));
  const auto first = static_cast<uint32_t>(code.lists.size());
  code.lists.insert(code.lists.end(), nodes.begin(), nodes.end());
  return first;
}

uint32_t Compiler::expr(const Expr& x) {
  auto known = exprs_.find(&*x);
  if (known != exprs_.end()) {
    code.exprs[known->second].is_shared = true;
    return known->second;
  }
  const uint32_t at = node(x);
  exprs_.emplace(&*x, at);
  return at;
}

uint32_t Compiler::node(const Expr& x) {
  using K = ExprCode;
  ExprCode out{K::kConstant, x.dtype(), x.dtype()};
  std::visit(
      overloaded{
          [&](const IntImm& v) { out.value.i = v.value; },
          [&](const FloatImm& v) { out.value.f = rounded(x.dtype(), v.value); },
          [&](const VarRef& v) { out.kind = K::kVar, out.a = var(v.var); },
          [&](const Unary& v) {
            out.kind = K::kUnary, out.op = static_cast<uint8_t>(v.op);
            out.from = v.x.dtype(), out.a = expr(v.x);
          },
          [&](const Binary& v) {
            out.kind = K::kBinary, out.op = static_cast<uint8_t>(v.op);
            out.from = v.a.dtype(), out.a = expr(v.a), out.b = expr(v.b);
          },
          [&](const Select& v) {
            out.kind = K::kSelect;
            out.a = expr(v.condition), out.b = expr(v.yes), out.c = expr(v.no);
          },
          [&](const Cast& v) { out.kind = K::kCast, out.from = v.x.dtype(), out.a = expr(v.x); },
          [&](const Bitcast& v) {
            out.kind = K::kBitcast, out.from = v.x.dtype(), out.a = expr(v.x);
          },
          [&](const std::shared_ptr<const Load>& v) {
            out.kind = K::kLoad, out.a = tensor(v->tensor), out.b = list(v->indices);
            out.c = static_cast<uint32_t>(v->indices.size());
          },
      },
      x->kind);
  code.exprs.push_back(out);
  return static_cast<uint32_t>(code.exprs.size() - 1);
}

StmtCode Compiler::stmt_of(const StmtNode& s) {
  using K = StmtCode;
  return std::visit(
      overloaded{
          [&](const For& v) {
            return K{K::kFor, var(v.var), expr(v.begin), expr(v.extent), 0, 0, {stmt(v.body)}};
          },
          [&](const Store& v) {
            const auto rank = static_cast<uint32_t>(v.indices.size());
            return K{K::kStore, tensor(v.tensor), expr(v.value), 0, list(v.indices), rank};
          },
          [&](const If& v) {
            std::vector<uint32_t> branches = {stmt(v.yes), stmt(v.no)};
            return K{K::kIf, 0, expr(v.condition), 0, 0, 0, std::move(branches)};
          },
          [&](const Let& v) {
            return K{K::kLet, var(v.var), expr(v.value), 0, 0, 0, {stmt(v.body)}};
          },
          [&](const Alloc& v) {
            return K{K::kAlloc, tensor(v.tensor), 0, 0, 0, 0, {stmt(v.body)}};
          },
          [&](const Block& v) {
            K out{K::kBlock};
            for (const Stmt& child : v.stmts) out.children.push_back(stmt(child));
            return out;
          },
          [&](const Intrinsic& v) { return K{K::kIntrinsic, 0, 0, 0, 0, 0, {}, v.name}; },
      },
      s.kind);
}

uint32_t Compiler::stmt(const Stmt& s) {
  StmtCode out = s.is_empty() ? StmtCode{StmtCode::kBlock} : stmt_of(*s);
  code.stmts.push_back(std::move(out));
  return static_cast<uint32_t>(code.stmts.size() - 1);
}

}  // namespace byoc::te
