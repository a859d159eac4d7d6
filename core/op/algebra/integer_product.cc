// SPDX-License-Identifier: Apache-2.0
// Matrix products of integers of 8 bits, whose sums are exact in i32.
#include <algorithm>

#include "byoc/base/check.h"
#include "byoc/op/registry.h"
#include "core/op/kernel/expression.h"
#include "core/op/kernel/kernel.h"
#include "core/op/kernel/matrix.h"

namespace byoc::op {
namespace {

constexpr std::string_view kMatmulIntegers = "matmul_integers";

// Returns the zero point of an operand, which every value of a byte has to be near enough for i16.
Result<int64_t> zero_of(const Attrs& attrs, const char* name) {
  const int64_t zero = attrs.i(name, 0);
  if (-128 <= zero && zero <= 255) return zero;
  return invalid(cat(kMatmulIntegers, ": ", name, " is ", zero, ", expected -128 to 255"));
}

Status check_product(Types in, const Attrs& attrs) {
  BYOC_TRY_STATUS(expect_dtype(kMatmulIntegers, "a", in[0], {DType::kU8, DType::kI8}));
  BYOC_TRY_STATUS(expect_dtype(kMatmulIntegers, "b", in[1], {DType::kU8, DType::kI8}));
  BYOC_TRY_STATUS(zero_of(attrs, "a_zero").status());
  BYOC_TRY_STATUS(zero_of(attrs, "b_zero").status());
  BYOC_TRY_STATUS(check_most_weight(kMatmulIntegers, attrs));
  const Shape &a = in[0]->shape, &b = in[1]->shape;
  if (b.size() != a.size()) BYOC_TRY_STATUS(expect_rank(kMatmulIntegers, "b", in[1], 2));
  if (a.size() < 2) BYOC_TRY_STATUS(expect_rank(kMatmulIntegers, "a", in[0], 2));
  const bool has_batch = b.size() < 3 || std::equal(b.begin(), b.end() - 2, a.begin());
  if (a.back() == b[b.size() - 2] && has_batch) return {};
  return invalid(cat(kMatmulIntegers, ": a has ", a.back(), " columns, b has ", b[b.size() - 2],
                     " rows, or leading dims differ (a ", in[0], ", b ", in[1], ")"))
      .with_slug("op-shape");
}

Result<std::vector<TensorType>> infer_product(Types in, const Attrs& attrs) {
  BYOC_TRY_STATUS(check_product(in, attrs));
  Shape shape = in[0]->shape;
  shape.back() = in[1]->shape.back();
  return one_result({DType::kI32, shape});
}

/// Returns an element of u8 or i8 less its zero point.
struct Bytes {
  const void* data;
  bool is_signed;
  int64_t zero;
  int64_t operator[](int64_t k) const {
    const uint8_t byte = static_cast<const uint8_t*>(data)[k];
    return (is_signed ? static_cast<int8_t>(byte) : byte) - zero;
  }
};

Result<RefKernel> reference_product(Types in, Types out, const Attrs& attrs) {
  const Shape& matrix = in[1]->shape;
  const int64_t k = in[0]->shape.back().extent(), n = matrix.back().extent();
  const int64_t rows = n == 0 ? 0 : count(out[0]) / n;
  const int64_t per_matrix = matrix.size() == 2 ? rows : in[0]->shape[matrix.size() - 2].extent();
  BYOC_CHECK(n == 0 || count(in[0]) == rows * k, in[0], " by ", in[1], " is ", out[0]);
  const bool is_signed[] = {in[0]->dtype == DType::kI8, in[1]->dtype == DType::kI8};
  BYOC_TRY(const int64_t a_zero, zero_of(attrs, "a_zero"));
  BYOC_TRY(const int64_t b_zero, zero_of(attrs, "b_zero"));
  return RefKernel([=](const void* const* from, void* const* to) {
    const Bytes a{from[0], is_signed[0], a_zero}, b{from[1], is_signed[1], b_zero};
    int32_t* y = out_as<int32_t>(to, 0);
    for (int64_t m = 0; m < rows; ++m) {
      const int64_t first = m / per_matrix * k * n;
      for (int64_t column = 0; column < n; ++column) {
        uint32_t sum = 0;
        for (int64_t r = 0; r < k; ++r)
          sum += static_cast<uint32_t>(a[m * k + r] * b[first + r * n + column]);
        *y++ = static_cast<int32_t>(sum);
      }
    }
  });
}

Expr from_zero(const Expr& byte, int64_t zero) {
  const Expr wide = te::cast(DType::kI32, byte);
  return zero == 0 ? wide : wide - te::int_constant(DType::kI32, zero);
}

Result<Tensors> compute_product(te::Builder& builder, Inputs in, Types out, const Attrs& attrs) {
  const Tensor &a = in[0], &b = in[1];
  BYOC_TRY(const int64_t a_zero, zero_of(attrs, "a_zero"));
  BYOC_TRY(const int64_t b_zero, zero_of(attrs, "b_zero"));
  auto term = [&](const Exprs& i, const Exprs& k) {
    BYOC_CHECK(i.size() == a.rank() && (b.rank() == 2 || b.rank() == a.rank()), i.size(),
               " indices for ranks ", a.rank(), " and ", b.rank());
    Exprs at_a = i, at_b = b.rank() == 2 ? Exprs{Expr(0), i.back()} : i;
    at_a.back() = k[0];
    at_b[at_b.size() - 2] = k[0];
    return from_zero(a(at_a), a_zero) * from_zero(b(at_b), b_zero);
  };
  return one(builder.reduce(std::string(kMatmulIntegers), te::extents_of(*out[0]),
                            {a.shape().back()}, te::sum_of(DType::kI32), term));
}

OpDef matmul_integers() {
  OpDef op{.name = std::string(kMatmulIntegers), .kind = FusionKind::kAnchor};
  op.doc =
      "Exact sums of (a - a_zero) * (b - b_zero), integers of 8 bits; they wrap around in i32.";
  op.inputs = {{"a", "u8 or i8 [..., m, k]"},
               {"b", "u8 or i8 [k, n], or [..., k, n] with the leading dims of a"}};
  op.outputs = {{"y", "i32 [..., m, n]"}};
  op.attrs = {{"a_zero", int64_t{0}, "-128 to 255"},
              {"b_zero", int64_t{0}, "-128 to 255"},
              most_weight_attr()};
  op.infer = infer_product;
  op.reference = reference_product;
  op.compute = with_open_sizes(compute_product);
  op.flops = [](Types in, Types out, const Attrs&) {
    return 2 * flop_count(out[0]) * static_cast<double>(in[0]->shape.back().extent());
  };
  op.facts = {.family = OpFamily::kProduct, .weight = 1, .weight_channels = -1};
  return op;
}

}  // namespace

void add_integer_product_ops(OpRegistry& ops) { ops.add(matmul_integers()); }

}  // namespace byoc::op
