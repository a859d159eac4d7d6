// SPDX-License-Identifier: Apache-2.0
// Attention to the first keys of a cache, as loops over blocks of rows of queries.
#include "core/op/kernel/attention/rows.h"
#include "core/op/kernel/index.h"

namespace byoc::op {
namespace {

using namespace attention;

constexpr int64_t kFewRows = 8;  // more of a head of k and v have lanes of their own

// The blocks of rows of one head of k and v, and the work of one.
struct Blocks {
  Expr count;
  std::function<Stmt(const Expr& block, const Rows& rows, const Expr& length)> work;
};

Blocks few(const Rows& rows) {
  const std::optional<int64_t> all = te::as_int(rows.all());
  const int64_t at_once = few_rows(rows.plan, all.value_or(rows.plan.group()));
  return {floor_div(rows.all() + (at_once - 1), at_once),
          [=](const Expr& block, const Rows& of, const Expr& length) {
            return block_of_few_rows(of, at_once, block * at_once, length);
          }};
}

Blocks many(const Rows& rows) {
  return {floor_div(rows.all() + (kLanes - 1), kLanes),
          [](const Expr& block, const Rows& of, const Expr& length) {
            return block_of_many_rows(of, block * kLanes, length);
          }};
}

// With an open number of queries each run chooses.
Blocks blocks_of(const Rows& rows) {
  if (auto all = te::as_int(rows.all())) return *all <= kFewRows ? few(rows) : many(rows);
  const Expr are_few = rows.all() <= Expr(kFewRows);
  const Blocks a = few(rows), b = many(rows);
  return {te::select(are_few, a.count, b.count),
          [=](const Expr& block, const Rows& of, const Expr& length) {
            return te::make_if(are_few, a.work(block, of, length), b.work(block, of, length));
          }};
}

}  // namespace

Result<Tensors> cached_attention_loops(te::Builder& builder, const CachedAttention& plan,
                                       std::string_view of, Inputs in, TypeId out) {
  const CheckedIndices lengths(builder, of, in[3], {lengths_up_to(plan.t)});
  Tensors read(in.begin(), in.end());
  for (const Tensor& tensor : lengths.inputs()) read.push_back(tensor);
  DType dtype = DType::kF32;
  for (const Tensor& tensor : in) {
    if (tensor.dtype() == DType::kF64) dtype = DType::kF64;
  }
  return builder.procedure("cached_attention", {*out}, read, [&](const Tensors& y) {
    Rows rows(plan, in, y[0], dtype, builder.target());
    if (plan.e == 0 || te::as_int(rows.s) == 0) return Stmt();
    const Blocks blocks = blocks_of(rows);
    const Expr units = te::simplify(in[0].shape()[0] * blocks.count * plan.kv_heads);
    return te::loop(
        "unit", units,
        [&](const Expr& unit) {
          rows.image = floor_div(unit, blocks.count * plan.kv_heads);
          rows.head = floor_mod(floor_div(unit, blocks.count), plan.kv_heads);
          return blocks.work(floor_mod(unit, blocks.count), rows, lengths({rows.image}));
        },
        LoopKind::kParallel);
  });
}

}  // namespace byoc::op
