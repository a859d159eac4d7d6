// SPDX-License-Identifier: Apache-2.0
#include "core/op/kernel/attention/rows.h"

namespace byoc::op::attention {

Stmt lanes(int64_t extent, const std::function<Stmt(Expr)>& body) {
  if (extent == 0) return {};
  return te::loop("lane", extent, body, LoopKind::kVectorized);
}

Expr joined(int64_t count, const ExprFn2& join, const std::function<Expr(int64_t)>& term) {
  Expr out = term(0);
  for (int64_t c = 1; c < count; ++c) out = join(out, term(c));
  return out;
}

namespace {

int64_t registers_of(const te::Target* target, DType dtype) {
  constexpr int64_t kUnknown = 32;
  if (target == nullptr) return kUnknown;
  return target->vector_registers * target->lanes(dtype_size(dtype)) / kLanes;
}

}  // namespace

Rows::Rows(const CachedAttention& own, Inputs inputs, Tensor result, DType computing,
           const te::Target* target)
    : plan(own),
      in(inputs),
      y(std::move(result)),
      dtype(computing),
      s(inputs[0].shape()[own.has_packed[0] ? 1 : 2]),
      registers(registers_of(target, computing)) {}

Expr Rows::operand(size_t k, int64_t size, const Expr& of_head, const Expr& position,
                   const Expr& column) const {
  const Exprs at = row_place<Expr>(plan.has_packed[k], size, image, of_head, position, column);
  return te::cast(dtype, widened(in[k](at)));
}

Exprs Rows::place(const Expr& row, const Expr& column) const {
  return row_place<Expr>(plan.has_packed[0], plan.e, image, query_head(row), query(row), column);
}

Expr Rows::first_of(const Expr& i) const {
  if (plan.left < 0) return 0;
  return te::max(Expr(0), i + length - s - plan.left);
}

Expr Rows::end_of(const Expr& i) const {
  const int64_t after = plan.is_causal ? 0 : plan.right;
  if (after < 0) return length;
  return te::min(length, i + length + (after + 1) - s);
}

Expr Rows::masked(Expr score, const Expr& row, const Expr& key) const {
  if (plan.softcap > 0)
    score = te::unary(te::UnaryOp::kTanh, score / number(plan.softcap)) * number(plan.softcap);
  if (in.size() <= 4) return score;
  const Expr mask = in[4](broadcast_index(in[4], {image, query_head(row), query(row), key}));
  if (mask.dtype() == DType::kBool) return te::select(mask, score, number(kNone));
  return score + te::cast(dtype, widened(mask));
}

Stmt Rows::with_bounds(const Expr& own_length, const Expr& first_row, const Expr& last_row,
                       const std::function<Stmt()>& body) {
  te::Var length_of("length"), begin_of("begin"), first_of_all("first"), end_of_all("end");
  length = length_of, begin = begin_of, first = first_of_all, end = end_of_all;
  Stmt out = te::make_let(end_of_all, end_of(query(last_row)), body());
  out = te::make_let(first_of_all, first_of(query(begin)), out);
  return te::make_let(length_of, own_length, te::make_let(begin_of, first_row, out));
}

}  // namespace byoc::op::attention
