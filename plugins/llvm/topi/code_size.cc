// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/topi/code_size.h"

#include <algorithm>

#include "plugins/llvm/analysis/walk.h"
#include "plugins/llvm/tiling/access.h"

namespace byoc::llvm_plugin::topi {
namespace {

constexpr int64_t kFunctionInstructions = 30;  // instructions of exp, log, erf and tanh of a vector
constexpr int64_t kLibmCall = 4;               // instructions of a call, per lane
constexpr int64_t kProcedure = 100;            // loops that an op writes itself, such as sorting
constexpr int64_t kMostVectors = 8;  // written out; more become a loop (emit/vectorize.cc)

bool is_ours(const te::Unary& unary) {
  return unary.op >= te::UnaryOp::kExp && unary.op <= te::UnaryOp::kTanh;
}

bool is_libm(const te::ExprNode& x) {
  auto* unary = std::get_if<te::Unary>(&x.kind);
  auto* binary = std::get_if<te::Binary>(&x.kind);
  return (unary && unary->op >= te::UnaryOp::kSin && unary->op <= te::UnaryOp::kAtanh) ||
         (binary && binary->op == te::BinaryOp::kPower);
}

int64_t instructions_of(const te::Compute& compute, int64_t lanes) {
  int64_t out = 1;
  Seen seen;
  for (const te::Expr& value : compute.values) {
    walk_expr(value, seen, [&](const te::Expr& x) {
      auto* unary = std::get_if<te::Unary>(&x->kind);
      if (unary && is_ours(*unary)) out += kFunctionInstructions;
      else if (is_libm(*x)) out += kLibmCall * lanes;
      else if (x->dtype != DType::kI64) ++out;  // indices cost little
    });
  }
  return out;
}

constexpr int64_t kUnknown = INT64_MAX;

int64_t times(int64_t a, int64_t b) {
  int64_t out = 0;
  return a == kUnknown || b == kUnknown || __builtin_mul_overflow(a, b, &out) ? kUnknown : out;
}

int64_t plus(int64_t a, int64_t b) {
  int64_t out = 0;
  return a == kUnknown || b == kUnknown || __builtin_add_overflow(a, b, &out) ? kUnknown : out;
}

int64_t operations_of(const te::Stmt& stmt) {
  int64_t own = 1, inside = 0;
  Seen seen;
  for_each_expr(*stmt, [&](const te::Expr& x) {
    walk_expr(x, seen, [&](const te::Expr& inner) {
      auto* unary = std::get_if<te::Unary>(&inner->kind);
      own += (unary && is_ours(*unary)) || is_libm(*inner) ? kFunctionInstructions : 1;
    });
  });
  for_each_inner(*stmt,
                 [&](const te::Stmt& inner) { inside = plus(inside, operations_of(inner)); });
  if (std::holds_alternative<te::Intrinsic>(stmt->kind)) return kUnknown;
  auto* loop = std::get_if<te::For>(&stmt->kind);
  if (loop == nullptr) return plus(own, inside);
  return plus(own, times(inside, te::as_int(loop->extent).value_or(kUnknown)));
}

}  // namespace

int64_t operations_of(const te::LoopFunction& function) {
  return function.body.is_empty() ? 0 : operations_of(function.body);
}

int64_t code_size_of(const te::Dag& dag, const te::Target& target) {
  int64_t out = 0;
  for (const te::Stage& stage : dag.stages) {
    if (std::holds_alternative<te::Procedure>(stage.kind)) out += kProcedure;
    auto* compute = std::get_if<te::Compute>(&stage.kind);
    if (compute == nullptr) continue;
    int64_t lanes = std::max<int64_t>(target.lanes(dtype_size(stage.outputs[0].dtype())), 1);
    int64_t vectors = (elements_of(stage.outputs[0]) + lanes - 1) / lanes;  // rows are joined
    vectors = std::clamp<int64_t>(vectors, 1, kMostVectors);
    out += instructions_of(*compute, lanes) * vectors;
  }
  return out;
}

double flops_of(const te::Dag& dag) {
  double out = 0;
  for (const te::Stage& stage : dag.stages) {
    auto* compute = std::get_if<te::Compute>(&stage.kind);
    if (compute == nullptr) continue;
    int64_t own = compute->reduce.empty() ? 0 : 1;
    Seen seen;
    for (const te::Expr& value : compute->values) {
      walk_expr(value, seen, [&](const te::Expr& x) {
        const bool is_arithmetic = std::holds_alternative<te::Unary>(x->kind) ||
                                   std::holds_alternative<te::Binary>(x->kind);
        own += is_arithmetic && is_float(x.dtype());
      });
    }
    auto points = static_cast<double>(elements_of(stage.outputs[0]));
    for (const te::Axis& axis : compute->reduce) points *= static_cast<double>(extent_of(axis));
    out += points * static_cast<double>(own);
  }
  return out;
}

double bytes_of(const te::Dag& dag) {
  double out = 0;
  for (const auto* tensors : {&dag.inputs, &dag.outputs}) {
    for (const te::Tensor& tensor : *tensors) {
      out += static_cast<double>(elements_of(tensor)) *
             static_cast<double>(dtype_size(tensor.dtype()));
    }
  }
  return out;
}

}  // namespace byoc::llvm_plugin::topi
