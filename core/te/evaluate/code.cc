// SPDX-License-Identifier: Apache-2.0
// Resolves names: turns expressions and statements into code.
#include "core/te/evaluate/code.h"

#include "byoc/ir/visit.h"
#include "byoc/te/copy.h"
#include "core/te/lower/declaration.h"

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
            auto declared = declared_.find(v->tensor.id());
            out.kind = K::kLoad, out.has_offset = declared != declared_.end();
            const Tensor& t = out.has_offset ? declared->second.first.tensor : v->tensor;
            out.a = tensor(t), out.c = static_cast<uint32_t>(t.rank());
            if (!out.has_offset) out.b = list(v->indices);
            else
              out.b =
                  list(with_offset(declared->second.first, declared->second.strides, v->indices));
          },
      },
      x->kind);
  code.exprs.push_back(out);
  return static_cast<uint32_t>(code.exprs.size() - 1);
}

// Returns the indices of `first`, then the distance from it to the element at `indices`.
Exprs Compiler::with_offset(const Place& first, const Exprs& strides, const Exprs& indices) {
  Expr offset = 0;
  for (size_t k = 0; k < indices.size(); ++k) offset = offset + indices[k] * strides[k];
  kept_.push_back(offset);
  Exprs out = first.indices;
  out.push_back(std::move(offset));
  return out;
}

StmtCode Compiler::store(const Store& v) {
  StmtCode out{StmtCode::kStore};
  auto declared = declared_.find(v.tensor.id());
  out.has_offset = declared != declared_.end();
  const Tensor& t = out.has_offset ? declared->second.first.tensor : v.tensor;
  out.slot = tensor(t), out.count = static_cast<uint32_t>(t.rank()), out.a = expr(v.value);
  if (!out.has_offset) out.first = list(v.indices);
  else out.first = list(with_offset(declared->second.first, declared->second.strides, v.indices));
  return out;
}

// Compiles a copy of adjacent elements as a loop over their distance from the first.
StmtCode Compiler::copy(const Intrinsic& v) {
  const Var k("k");
  kept_.push_back(k);
  const Expr distance = kept_.back();
  auto elements = [&](const Place& first) {
    Exprs at = first.indices;
    at.push_back(distance);
    return list(at);
  };
  const Tensor &from = v.places[0].tensor, &to = v.places[1].tensor;
  ExprCode load{ExprCode::kLoad, from.dtype(), from.dtype()};
  load.has_offset = true;
  load.a = tensor(from), load.b = elements(v.places[0]),
  load.c = static_cast<uint32_t>(from.rank());
  StmtCode store{StmtCode::kStore};
  store.has_offset = true;
  store.slot = tensor(to), store.count = static_cast<uint32_t>(to.rank());
  store.first = elements(v.places[1]);
  code.exprs.push_back(load);
  store.a = static_cast<uint32_t>(code.exprs.size() - 1);
  code.stmts.push_back(std::move(store));
  const auto body = static_cast<uint32_t>(code.stmts.size() - 1);
  kept_.emplace_back(0);
  return {StmtCode::kFor, var(k), expr(kept_.back()), expr(v.args[0]), 0, 0, {body}};
}

// Compiles the loops of the declaration, on the places of the call.
StmtCode Compiler::intrinsic(const Intrinsic& v) {
  if (const std::string_view op = index_error_op(v); !op.empty()) {
    return {StmtCode::kIndexError, 0, expr(v.args[0]), expr(v.args[1]), expr(v.args[2]), 0, {},
            std::string(op)};
  }
  if (is_copy(v)) return copy(v);
  if (v.name == "prefetch" && !v.declaration) return {StmtCode::kBlock};  // loads lines, no more
  if (!v.declaration) return {StmtCode::kIntrinsic, 0, 0, 0, 0, 0, {}, v.name};
  const TensorIntrin& intrin = *v.declaration;
  auto outside = std::exchange(exprs_, {});  // the next call has other places
  const std::vector<Axis> axes = axes_of(intrin);
  const std::vector<std::vector<Var>> places = place_axes(intrin);
  size_t arg = axes.size();
  for (size_t k = 0; k < places.size(); ++k) {
    const Tensor& tensor = k + 1 < places.size() ? intrin.dag.inputs[k] : output_of(intrin);
    auto first = v.args.begin() + static_cast<std::ptrdiff_t>(arg);
    arg += places[k].size();
    declared_[tensor.id()] = {v.places[k],
                              {first, v.args.begin() + static_cast<std::ptrdiff_t>(arg)}};
  }
  Exprs indices;
  for (const Axis& axis : compute_of(intrin).axes) indices.push_back(axis.var);
  Stmt body = make_store(output_of(intrin), indices, stored_value(intrin));
  for (size_t a = axes.size(); a-- > 0;)
    body = make_for(axes[a].var, 0, v.args[a], LoopKind::kSerial, std::move(body));
  StmtCode out = stmt_of(*body);
  declared_.clear();
  exprs_ = std::move(outside);
  return out;
}

StmtCode Compiler::stmt_of(const StmtNode& s) {
  using K = StmtCode;
  return std::visit(overloaded{
                        [&](const For& v) {
                          return K{K::kFor, var(v.var), expr(v.begin), expr(v.extent),
                                   0,       0,          {stmt(v.body)}};
                        },
                        [&](const Store& v) { return store(v); },
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
                        [&](const Intrinsic& v) { return intrinsic(v); },
                    },
                    s.kind);
}

uint32_t Compiler::stmt(const Stmt& s) {
  StmtCode out = s.is_empty() ? StmtCode{StmtCode::kBlock} : stmt_of(*s);
  code.stmts.push_back(std::move(out));
  return static_cast<uint32_t>(code.stmts.size() - 1);
}

}  // namespace byoc::te
