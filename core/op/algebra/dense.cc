// SPDX-License-Identifier: Apache-2.0
// Matrix products: matmul (numpy's rules, batched) and gemm (two matrices). Neither takes a bias.
#include "byoc/base/check.h"
#include "byoc/op/registry.h"
#include "core/op/kernel/expression.h"
#include "core/op/kernel/kernel.h"
#include "core/op/kernel/matrix.h"

namespace byoc::op {
namespace {

std::string shown_operands(Types in) { return cat(" (a ", in[0], ", b ", in[1], ")"); }

// Sums floats in their computing type; integers wrap around.
template <class T>
using ProductSum = std::conditional_t<std::is_integral_v<T>, uint64_t, Compute<T>>;

Status check_operands(std::string_view op, Types in) {
  BYOC_TRY_STATUS(expect_dtype(op, "a", in[0], dtypes_of(NumericTypes{})));
  return expect_same_dtype(op, in);
}

Status check_inner(std::string_view op, Dim a, Dim b, Types in) {
  if (a == b) return {};
  return invalid(cat(op, ": a has ", a, " columns, b has ", b, " rows", shown_operands(in)))
      .with_slug("op-shape");
}

// The operands as matrices: a vector a is a row, a vector b a column, here [1, k] and [k, 1].
struct MatmulShape {
  Shape a, b;                        // rank >= 2
  bool row = false, column = false;  // y loses the dim that was added
};

MatmulShape matrices_of(Types in) {
  MatmulShape s{in[0]->shape, in[1]->shape};
  s.row = s.a.size() == 1;
  s.column = s.b.size() == 1;
  if (s.row) s.a.insert(s.a.begin(), Dim(1));
  if (s.column) s.b.push_back(Dim(1));
  return s;
}

Shape batch_of(const Shape& shape) {
  BYOC_CHECK(shape.size() >= 2, "matrices of rank ", shape.size());
  return {shape.begin(), shape.end() - 2};
}

Result<std::vector<TensorType>> infer_matmul(Types in, const Attrs&) {
  BYOC_TRY_STATUS(check_operands("matmul", in));
  for (TypeId type : in) {
    if (type->shape.empty())
      return invalid(cat("matmul: operands must have rank 1 or more", shown_operands(in)))
          .with_slug("op-shape");
  }
  MatmulShape s = matrices_of(in);
  BYOC_TRY_STATUS(check_inner("matmul", s.a.back(), s.b[s.b.size() - 2], in));
  TypeId batches[] = {TensorType{in[0]->dtype, batch_of(s.a)},
                      TensorType{in[0]->dtype, batch_of(s.b)}};
  auto batch = broadcast_shapes("matmul", batches);
  if (!batch.ok()) {
    return invalid(cat("matmul: the leading dims do not broadcast", shown_operands(in)))
        .with_slug("op-shape");
  }
  TensorType y{in[0]->dtype, *std::move(batch)};
  if (!s.row) y.shape.push_back(s.a[s.a.size() - 2]);
  if (!s.column) y.shape.push_back(s.b.back());
  return one_result(std::move(y));
}

Result<RefKernel> reference_matmul(Types in, Types out, const Attrs&) {
  MatmulShape s = matrices_of(in);
  MatrixProduct p{
      .m = s.a[s.a.size() - 2].extent(), .k = s.a.back().extent(), .n = s.b.back().extent()};
  p.a_m = p.k, p.a_k = 1, p.b_k = p.n, p.b_n = 1;
  BYOC_CHECK(p.k == s.b[s.b.size() - 2].extent(), in[0], " is multiplied by ", in[1]);
  TypeId batches[] = {TensorType{in[0]->dtype, batch_of(s.a)},
                      TensorType{in[0]->dtype, batch_of(s.b)}};
  BYOC_TRY(Shape batch, broadcast_shapes("matmul", batches));
  Walk<2> walk(static_extents(batch), {broadcast_strides(batches[0]->shape, batch),
                                       broadcast_strides(batches[1]->shape, batch)});
  return for_dtype("matmul", out[0]->dtype, NumericTypes{}, [&]<class T>() -> RefKernel {
    return [p, walk](const void* const* from, void* const* to) {
      T* y = out_as<T>(to, 0);
      walk.for_rows([&](const auto& at, int64_t n, const auto& step) {
        for (int64_t q = 0; q < n; ++q, y += p.m * p.n) {
          const T* a = in_as<T>(from, 0) + (at[0] + q * step[0]) * p.m * p.k;
          const T* b = in_as<T>(from, 1) + (at[1] + q * step[1]) * p.k * p.n;
          multiply_matrices<ProductSum<T>>(a, b, p, y,
                                           [](auto sum) { return static_cast<T>(sum); });
        }
      });
    };
  });
}

// Returns the index of an operand whose leading dims broadcast to `batch`, then its matrix indices.
Exprs batched(const Tensor& x, const Exprs& batch, const Exprs& matrix) {
  BYOC_CHECK(matrix.size() <= x.rank(), matrix.size(), " indices of a matrix for rank ", x.rank());
  const size_t leading = x.rank() - matrix.size();
  BYOC_CHECK(leading <= batch.size(), leading, " leading dims broadcast to ", batch.size());
  const size_t shift = batch.size() - leading;
  Exprs at;
  for (size_t d = 0; d < leading; ++d)
    at.push_back(as_int(x.shape()[d]) == 1 ? Expr(0) : batch[d + shift]);
  at.insert(at.end(), matrix.begin(), matrix.end());
  return at;
}

Result<Tensors> compute_matmul(te::Builder& builder, Inputs in, Types out, const Attrs&) {
  const Tensor &a = in[0], &b = in[1];
  bool row = a.rank() == 1, column = b.rank() == 1;
  auto term = [&](Exprs i, const Exprs& k) {
    Exprs at_a = k, at_b = k;
    if (!column) at_b.push_back(i.back()), i.pop_back();
    if (!row) at_a.insert(at_a.begin(), i.back()), i.pop_back();
    return widened(a(batched(a, i, at_a))) * widened(b(batched(b, i, at_b)));
  };
  Tensor y =
      sum_over(builder, "matmul", te::extents_of(*out[0]), {a.shape().back()}, a.dtype(), term);
  return one(stored_as(builder, "matmul", a.dtype(), y));
}

double flops_matmul(Types in, Types out, const Attrs&) {
  return 2 * flop_count(out[0]) * static_cast<double>(in[0]->shape.back().extent());
}

MatrixProduct gemm_product(Types in, const Attrs& attrs) {
  bool trans_a = attrs.b("trans_a", false), trans_b = attrs.b("trans_b", false);
  const Shape &a = in[0]->shape, &b = in[1]->shape;
  BYOC_CHECK(a.size() == 2 && b.size() == 2, "gemm of ", in[0], " and ", in[1]);
  MatrixProduct p{.m = a[trans_a].extent(), .k = a[!trans_a].extent(), .n = b[!trans_b].extent()};
  p.a_m = trans_a ? 1 : p.k, p.a_k = trans_a ? p.m : 1;
  p.b_k = trans_b ? 1 : p.n, p.b_n = trans_b ? p.k : 1;
  return p;
}

Result<std::vector<TensorType>> infer_gemm(Types in, const Attrs& attrs) {
  BYOC_TRY_STATUS(check_operands("gemm", in));
  BYOC_TRY_STATUS(expect_rank("gemm", "a", in[0], 2));
  BYOC_TRY_STATUS(expect_rank("gemm", "b", in[1], 2));
  bool trans_a = attrs.b("trans_a", false), trans_b = attrs.b("trans_b", false);
  const Shape &a = in[0]->shape, &b = in[1]->shape;
  BYOC_TRY_STATUS(check_inner("gemm", a[!trans_a], b[trans_b], in));
  double alpha = attrs.f("alpha", 1);
  if (!is_float(in[0]->dtype) && alpha != 1) {
    return invalid(
        cat("gemm: alpha is ", alpha, ", only 1 is possible for integers", shown_operands(in)));
  }
  return one_result({in[0]->dtype, {a[trans_a], b[!trans_b]}});
}

Result<RefKernel> reference_gemm(Types in, Types out, const Attrs& attrs) {
  MatrixProduct p = gemm_product(in, attrs);
  double alpha = attrs.f("alpha", 1);
  return for_dtype("gemm", out[0]->dtype, NumericTypes{}, [&]<class T>() -> RefKernel {
    using Acc = ProductSum<T>;
    return [p, scale = static_cast<Acc>(alpha)](const void* const* from, void* const* to) {
      multiply_matrices<Acc>(in_as<T>(from, 0), in_as<T>(from, 1), p, out_as<T>(to, 0),
                             [&](Acc sum) { return static_cast<T>(scale * sum); });
    };
  });
}

Result<Tensors> compute_gemm(te::Builder& builder, Inputs in, Types out, const Attrs& attrs) {
  const Tensor &a = in[0], &b = in[1];
  bool trans_a = attrs.b("trans_a", false), trans_b = attrs.b("trans_b", false);
  double alpha = attrs.f("alpha", 1);
  auto term = [&](const Exprs& i, const Exprs& r) {
    Expr left = trans_a ? a(r[0], i[0]) : a(i[0], r[0]);
    Expr right = trans_b ? b(i[1], r[0]) : b(r[0], i[1]);
    return widened(left) * widened(right);
  };
  Tensor y = sum_over(builder, "gemm", te::extents_of(*out[0]), {a.shape()[trans_a ? 0 : 1]},
                      a.dtype(), term);
  if (alpha == 1) return one(stored_as(builder, "gemm", a.dtype(), y));
  return one(builder.compute("gemm_scaled", y.shape(), [&](const Exprs& i) {
    return converted_to(a.dtype(), like(y(i), alpha) * y(i));
  }));
}

double flops_gemm(Types in, Types, const Attrs& attrs) {
  MatrixProduct p = gemm_product(in, attrs);
  return 2 * static_cast<double>(p.m) * static_cast<double>(p.k) * static_cast<double>(p.n);
}

}  // namespace

void add_dense_ops(OpRegistry& ops) {
  ops.add(
      {.name = "matmul",
       .doc =
           "Matrix product by numpy's rules: leading dims broadcast, a vector is a row of a or a "
           "column of b. Integers wrap around.",
       .kind = FusionKind::kAnchor,
       .inputs = {{"a", "number [..., m, k] or [k]"}, {"b", "as a: [..., k, n] or [k]"}},
       .outputs = {{"y", "[..., m, n]"}},
       .infer = infer_matmul,
       .reference = reference_matmul,
       .compute = with_open_sizes(compute_matmul),
       .flops = flops_matmul,
       .facts = {
           .family = OpFamily::kProduct, .weight = 1, .weight_channels = -1, .is_plain = true}});
  ops.add({.name = "gemm",
           .doc = "y = alpha * a' * b', transposed by trans_a, trans_b. No bias: a multiply and an "
                  "add follow.",
           .kind = FusionKind::kAnchor,
           .inputs = {{"a", "number [m, k], or [k, m] with trans_a"},
                      {"b", "as a: [k, n], or [n, k] with trans_b"}},
           .outputs = {{"y", "[m, n]"}},
           .attrs = {{"trans_a", false, "a is stored transposed"},
                     {"trans_b", false, "b is stored transposed"},
                     {"alpha", 1.0, "factor; 1 for integers"}},
           .infer = infer_gemm,
           .reference = reference_gemm,
           .compute = with_open_sizes(compute_gemm),
           .flops = flops_gemm,
           .facts = {.family = OpFamily::kProduct,
                     .weight = 1,
                     .weight_channels = -1,
                     .weight_transposed = "trans_b",
                     .is_plain = true}});
}

}  // namespace byoc::op
