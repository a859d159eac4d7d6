// SPDX-License-Identifier: Apache-2.0
// det: the determinant of each matrix.
#include <cmath>
#include <utility>

#include "byoc/base/check.h"
#include "byoc/op/registry.h"
#include "core/op/kernel/expression.h"
#include "core/op/kernel/kernel.h"
#include "core/op/kernel/move.h"

namespace byoc::op {
namespace {

constexpr int64_t kMost = 64;  // a kernel has no memory but its stack

Result<std::vector<TensorType>> infer_det(Types in, const Attrs&) {
  BYOC_TRY_STATUS(expect_dtype("det", "x", in[0], dtypes_of(FloatTypes{})));
  const Shape& x = in[0]->shape;
  if (x.size() < 2 || x[x.size() - 2] != x.back()) {
    return shape_error("det: expects square matrices", in[0]);
  }
  return one_result({in[0]->dtype, {x.begin(), x.end() - 2}});
}

// Returns the determinant by Gaussian elimination with row pivots; destroys `a`.
double eliminate(double* a, int64_t n) {
  double det = 1;
  for (int64_t k = 0; k < n; ++k) {
    int64_t pivot = k;
    for (int64_t row = k + 1; row < n; ++row) {
      if (std::abs(a[row * n + k]) > std::abs(a[pivot * n + k])) pivot = row;
    }
    if (a[pivot * n + k] == 0) return 0;
    if (pivot != k) det = -det;
    for (int64_t column = 0; column < n; ++column)
      std::swap(a[k * n + column], a[pivot * n + column]);
    det *= a[k * n + k];
    for (int64_t row = k + 1; row < n; ++row) {
      double factor = a[row * n + k] / a[k * n + k];
      for (int64_t column = k; column < n; ++column)
        a[row * n + column] -= factor * a[k * n + column];
    }
  }
  return det;
}

Result<RefKernel> reference_det(Types in, Types out, const Attrs&) {
  int64_t n = in[0]->shape.back().extent(), matrices = count(out[0]);
  if (n > kMost)
    return unimplemented(
        cat("det has a kernel for matrices up to ", kMost, " x ", kMost, " (x ", in[0], ")"));
  return for_dtype("det", in[0]->dtype, FloatTypes{}, [&]<class T>() -> RefKernel {
    return [=](const void* const* from, void* const* to) {
      double a[kMost * kMost];
      for (int64_t m = 0; m < matrices; ++m) {
        for (int64_t k = 0; k < n * n; ++k)
          a[k] = static_cast<double>(in_as<T>(from, 0)[m * n * n + k]);
        out_as<T>(to, 0)[m] = static_cast<T>(eliminate(a, n));
      }
    };
  });
}

// Writes the same elimination as statements, on a copy of the matrix in f64.
struct DetLoops {
  Tensor a;
  int64_t n;
  Scalar det{"det", DType::kF64}, pivot{"pivot", DType::kI64}, factor{"factor", DType::kF64};

  te::Stmt find_pivot(const Expr& k) const {
    auto size = [&](const Expr& row) { return te::unary(te::UnaryOp::kAbs, a(row, k)); };
    te::Stmt search = te::loop("row", Expr(n - 1) - k, [&](Expr step) {
      Expr row = k + 1 + step;
      return te::make_if(size(row) > size(pivot.get()), pivot.set(row));
    });
    return te::make_block({pivot.set(k), search});
  }
  te::Stmt swap_rows(const Expr& k) const {
    te::Stmt swap = te::loop("column", n, [&](Expr column) {
      te::Var kept("kept", DType::kF64);
      te::Stmt moves = te::make_block({te::make_store(a, {k, column}, a(pivot.get(), column)),
                                       te::make_store(a, {pivot.get(), column}, kept)});
      return te::make_let(kept, a(k, column), moves);
    });
    return te::make_if(pivot.get() != k, te::make_block({det.set(-det.get()), swap}));
  }
  te::Stmt clear_below(const Expr& k) const {
    return te::loop("row", Expr(n - 1) - k, [&](Expr step) {
      Expr row = k + 1 + step;
      te::Stmt subtract = te::loop("column", Expr(n) - k, [&](Expr right) {
        Expr column = k + right;
        return te::make_store(a, {row, column}, a(row, column) - factor.get() * a(k, column));
      });
      return te::make_block({factor.set(a(row, k) / a(k, k)), subtract});
    });
  }
  te::Stmt eliminate() const {
    te::Stmt steps = te::loop("k", n, [&](Expr k) {
      Expr none = te::constant(DType::kF64, 0);
      te::Stmt step = te::make_block({swap_rows(k), det.set(det.get() * a(k, k)), clear_below(k)});
      te::Stmt try_step = te::make_block(
          {find_pivot(k), te::make_if(a(pivot.get(), k) == none, det.set(none), step)});
      return te::make_if(det.get() != none, try_step);  // 0 stays 0
    });
    return te::make_block({det.set(te::constant(DType::kF64, 1)), steps});
  }
};

Result<Tensors> compute_det(te::Builder& builder, Inputs in, Types out, const Attrs&) {
  const Dim size = type_of(in[0]).shape.back();
  if (is_open(size)) return needs_number("det", size);
  const int64_t n = size.extent();
  BYOC_CHECK(in[0].rank() >= 2 && in[0].rank() == out[0]->shape.size() + 2,
             "the determinants of rank ", in[0].rank(), " make ", out[0]);
  DetLoops loops{Tensor("a", DType::kF64, {n, n}), n};
  return builder.procedure("det", {*out[0]}, {in[0]}, [&](const Tensors& y) {
    te::Stmt body = loops_over(te::extents_of(*out[0]), [&](const Exprs& i) {
      te::Stmt copy = nested_loops({n, n}, [&](const Exprs& cell) {
        Exprs from = i;
        from.insert(from.end(), cell.begin(), cell.end());
        return te::make_store(loops.a, cell, te::cast(DType::kF64, widened(in[0](from))));
      });
      te::Stmt give = te::make_store(y[0], i, converted_to(out[0]->dtype, loops.det.get()));
      return te::make_block({copy, loops.eliminate(), give});
    });
    body = loops.det.in(loops.pivot.in(loops.factor.in(body)));
    return te::make_alloc(loops.a, te::Scope::kWorkspace, body);
  });
}

double flops_det(Types in, Types out, const Attrs&) {
  double n = static_cast<double>(in[0]->shape.back().extent());
  return flop_count(out[0]) * 2 * n * n * n / 3;
}

}  // namespace

void add_det_ops(OpRegistry& ops) {
  ops.add({.name = "det",
           .doc = "The determinant of each matrix.",
           .inputs = {{"x", "float [..., n, n]"}},
           .outputs = {{"y", "[...]"}},
           .infer = infer_det,
           .reference = reference_det,
           .compute = with_open_sizes(compute_det),
           .flops = flops_det});
}

}  // namespace byoc::op
