// SPDX-License-Identifier: Apache-2.0
// Matrix products of integers of 8 bits, whose sums are exact in i32.
#include "byoc/base/check.h"
#include "byoc/op/registry.h"
#include "core/op/kernel/expression.h"
#include "core/op/kernel/kernel.h"

namespace byoc::op {
namespace {

constexpr std::string_view kMatmulIntegers = "matmul_integers";

Result<std::vector<TensorType>> infer_product(Types in, const Attrs&) {
  BYOC_TRY_STATUS(expect_dtype(kMatmulIntegers, "a", in[0], {DType::kU8}));
  BYOC_TRY_STATUS(expect_dtype(kMatmulIntegers, "b", in[1], {DType::kI8}));
  BYOC_TRY_STATUS(expect_rank(kMatmulIntegers, "b", in[1], 2));
  if (in[0]->shape.size() < 2) BYOC_TRY_STATUS(expect_rank(kMatmulIntegers, "a", in[0], 2));
  if (in[0]->shape.back() != in[1]->shape[0])
    return invalid(cat(kMatmulIntegers, ": a has ", in[0]->shape.back(), " columns, b has ",
                       in[1]->shape[0], " rows (a ", in[0], ", b ", in[1], ")"))
        .with_slug("op-shape");
  Shape shape = in[0]->shape;
  shape.back() = in[1]->shape[1];
  return one_result({DType::kI32, shape});
}

Result<RefKernel> reference_product(Types in, Types out, const Attrs&) {
  const int64_t k = in[1]->shape[0].extent(), n = in[1]->shape[1].extent();
  const int64_t rows = n == 0 ? 0 : count(out[0]) / n;
  BYOC_CHECK(n == 0 || count(in[0]) == rows * k, in[0], " by ", in[1], " is ", out[0]);
  return RefKernel([=](const void* const* from, void* const* to) {
    const uint8_t* a = in_as<uint8_t>(from, 0);
    const int8_t* b = in_as<int8_t>(from, 1);
    int32_t* y = out_as<int32_t>(to, 0);
    for (int64_t m = 0; m < rows; ++m, a += k) {
      for (int64_t column = 0; column < n; ++column) {
        uint32_t sum = 0;
        for (int64_t r = 0; r < k; ++r) sum += static_cast<uint32_t>(a[r] * b[r * n + column]);
        *y++ = static_cast<int32_t>(sum);
      }
    }
  });
}

Result<Tensors> compute_product(te::Builder& builder, Inputs in, Types out, const Attrs&) {
  const Tensor &a = in[0], &b = in[1];
  auto term = [&](const Exprs& i, const Exprs& k) {
    BYOC_CHECK(i.size() == a.rank() && b.rank() == 2, i.size(), " indices for ranks ", a.rank(),
               " and ", b.rank());
    Exprs at_a = i;
    at_a.back() = k[0];
    return te::cast(DType::kI32, a(at_a)) * te::cast(DType::kI32, b(k[0], i.back()));
  };
  return one(builder.reduce(std::string(kMatmulIntegers), te::extents_of(*out[0]),
                            {a.shape().back()}, te::sum_of(DType::kI32), term));
}

OpDef matmul_integers() {
  OpDef op{.name = std::string(kMatmulIntegers), .kind = FusionKind::kAnchor};
  op.doc = "Exact sums of products of integers of 8 bits; they wrap around in i32.";
  op.inputs = {{"a", "u8 [..., m, k]"}, {"b", "i8 [k, n]"}};
  op.outputs = {{"y", "i32 [..., m, n]"}};
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
