// SPDX-License-Identifier: Apache-2.0
// Ops on the diagonals of matrices: trilu, eye_like.
#include "byoc/base/check.h"
#include "byoc/op/registry.h"
#include "core/op/kernel/expression.h"
#include "core/op/kernel/kernel.h"
#include "core/op/kernel/move.h"

namespace byoc::op {
namespace {

Result<std::vector<TensorType>> infer_trilu(Types in, const Attrs&) {
  if (in[0]->shape.size() >= 2) return one_result(*in[0]);
  return shape_error(cat("trilu: x has rank ", in[0]->shape.size(), ", expects at least 2"), in[0]);
}

Result<RefKernel> reference_trilu(Types in, Types, const Attrs& attrs) {
  bool upper = attrs.b("upper", true);
  int64_t k = attrs.i("k", 0), n = count(in[0]);
  BYOC_CHECK(in[0]->shape.size() >= 2, "the triangle of ", in[0]);
  int64_t rows = in[0]->shape[in[0]->shape.size() - 2].extent(),
          columns = in[0]->shape.back().extent();
  return for_width(in[0]->dtype, [&]<class U>() -> RefKernel {
    return [=](const void* const* from, void* const* to) {
      for (int64_t at = 0; at < n; ++at) {
        int64_t diagonal = at % columns - at / columns % rows;
        bool kept = upper ? diagonal >= k : diagonal <= k;
        out_as<U>(to, 0)[at] = kept ? in_as<U>(from, 0)[at] : U{};
      }
    };
  });
}

Result<Tensors> compute_trilu(te::Builder& builder, Inputs in, Types, const Attrs& attrs) {
  bool upper = attrs.b("upper", true);
  int64_t k = attrs.i("k", 0);
  return one(builder.compute("trilu", in[0].shape(), [&](const Exprs& i) {
    BYOC_CHECK(i.size() >= 2, "the triangle of a tensor of rank ", i.size());
    Expr diagonal = i.back() - i[i.size() - 2];
    Expr kept = upper ? diagonal >= k : diagonal <= k;
    return select(kept, in[0](i), zero(in[0].dtype()));
  }));
}

Result<std::vector<TensorType>> infer_eye_like(Types in, const Attrs& attrs) {
  BYOC_TRY_STATUS(expect_rank("eye_like", "x", in[0], 2));
  return one_result({attrs.has("dtype") ? attrs.dtype("dtype") : in[0]->dtype, in[0]->shape});
}

Result<RefKernel> reference_eye_like(Types, Types out, const Attrs& attrs) {
  BYOC_CHECK(out[0]->shape.size() == 2, "a diagonal of ", out[0]);
  int64_t k = attrs.i("k", 0), rows = out[0]->shape[0].extent(),
          columns = out[0]->shape[1].extent();
  uint64_t one = bits_of(out[0]->dtype, 1);
  return for_width(out[0]->dtype, [&]<class U>() -> RefKernel {
    return [=](const void* const*, void* const* to) {
      U* y = out_as<U>(to, 0);
      for (int64_t row = 0; row < rows; ++row) {
        for (int64_t column = 0; column < columns; ++column)
          *y++ = column - row == k ? static_cast<U>(one) : U{};
      }
    };
  });
}

Result<Tensors> compute_eye_like(te::Builder& builder, Inputs, Types out, const Attrs& attrs) {
  int64_t k = attrs.i("k", 0);
  DType dtype = out[0]->dtype;
  return one(builder.compute("eye_like", te::extents_of(*out[0]), [&](const Exprs& i) {
    return select(i[1] - i[0] == k, literal(dtype, 1), zero(dtype));
  }));
}

}  // namespace

void add_triangle_ops(OpRegistry& ops) {
  ops.add({.name = "trilu",
           .doc = "The upper or lower triangle of each matrix, zeros elsewhere.",
           .kind = FusionKind::kInjective,
           .inputs = {{"x", "any type [..., rows, columns]"}},
           .attrs = {{"upper", true, "keep what lies on or above the diagonal, else on or below"},
                     {"k", int64_t{0}, "which diagonal: column - row"}},
           .infer = infer_trilu,
           .reference = reference_trilu,
           .compute = with_open_sizes(compute_trilu),
           .flops = no_flops});
  ops.add({.name = "eye_like",
           .doc = "Ones on diagonal k of a matrix of x's shape, zeros elsewhere; x's values do not "
                  "matter.",
           .kind = FusionKind::kInjective,
           .inputs = {{"x", "any type [rows, columns]"}},
           .attrs = {{"dtype", DType::kF32, "of y; absent: that of x", AttrSpec::kOptional},
                     {"k", int64_t{0}, "which diagonal: column - row"}},
           .infer = infer_eye_like,
           .reference = reference_eye_like,
           .compute = with_open_sizes(compute_eye_like),
           .flops = no_flops});
}

}  // namespace byoc::op
