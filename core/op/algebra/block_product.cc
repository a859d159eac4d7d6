// SPDX-License-Identifier: Apache-2.0
// Matrices in a narrow form, and products with them that read them as they are stored: integers of
// 4 and 8 bits with a scale per block of a column, and floats of 16 bits.
#include "byoc/base/check.h"
#include "byoc/op/registry.h"
#include "core/op/kernel/blocks.h"
#include "core/op/kernel/kernel.h"

namespace byoc::op {
namespace {

constexpr std::string_view kBlockDequantize = "dequantize_blocks", kBlockProduct = "matmul_blocks",
                           kWidened = "matmul_widened", kRound = "round_rows";
using MatrixTypes = TypeList<float, f16, bf16>;  // that dequantize_blocks returns

Status check_row_operand(std::string_view op, TypeId x, Dim k) {
  BYOC_TRY_STATUS(expect_dtype(op, "x", x, {DType::kF32}));
  if (x->shape.size() < 2) BYOC_TRY_STATUS(expect_rank(op, "x", x, 2));
  if (x->shape.back() == k) return {};
  return invalid(cat(op, ": x has ", x->shape.back(), " columns, the matrix has ", k, " rows (x ",
                     x, ")"))
      .with_slug("op-shape");
}

// Checks the attributes of rows that are rounded in blocks.
Status check_rounding(std::string_view op, int64_t block, int64_t bits) {
  if (block >= 8 && block % 8 == 0 && (bits == 0 || bits == 8)) return {};
  return invalid(cat(op, ": block is ", block, " and row_bits ", bits,
                     ", expected a multiple of 8, and 0 or 8"));
}

Result<std::vector<TensorType>> rows_by(TypeId x, Dim n) {
  Shape shape = x->shape;
  shape.back() = n;
  return one_result({DType::kF32, shape});
}

Result<std::vector<TensorType>> infer_block_dequantize(Types in, const Attrs& attrs) {
  BYOC_TRY(Blocks blocks, blocks_of(kBlockDequantize, in, attrs, attrs.i("rows")));
  const DType to = attrs.dtype("to");
  if (!is_float(to) || to == DType::kF64)
    return invalid(cat(kBlockDequantize, ": to is ", to, ", expects f32, f16 or bf16"))
        .with_slug("op-dtype");
  return one_result({to, make_shape(Ints{blocks.k, blocks.n})});
}

Result<std::vector<TensorType>> infer_block_product(Types in, const Attrs& attrs) {
  if (in[0]->shape.empty() || !in[0]->shape.back().is_static())
    return invalid(cat(kBlockProduct, ": x must have a known number of columns, it is ", in[0]))
        .with_slug("op-shape");
  const int64_t k = in[0]->shape.back().extent();
  BYOC_TRY(Blocks blocks, blocks_of(kBlockProduct, in.subspan(1), attrs, k));
  BYOC_TRY_STATUS(check_rounding(kBlockProduct, blocks.block, attrs.i("row_bits")));
  BYOC_TRY_STATUS(check_row_operand(kBlockProduct, in[0], Dim(k)));
  return rows_by(in[0], Dim(blocks.n));
}

Result<std::vector<TensorType>> infer_widened(Types in, const Attrs& attrs) {
  BYOC_TRY_STATUS(expect_dtype(kWidened, "weight", in[1], {DType::kF16, DType::kBF16}));
  BYOC_TRY_STATUS(expect_rank(kWidened, "weight", in[1], 2));
  const bool is_transposed = attrs.b("trans_b", false);
  BYOC_TRY_STATUS(check_row_operand(kWidened, in[0], in[1]->shape[is_transposed ? 1 : 0]));
  return rows_by(in[0], in[1]->shape[is_transposed ? 0 : 1]);
}

Result<RefKernel> reference_block_dequantize(Types in, Types out, const Attrs& attrs) {
  BYOC_TRY(Blocks blocks, blocks_of(kBlockDequantize, in, attrs, attrs.i("rows")));
  BYOC_TRY(ReadScale scale, reader_of(kBlockDequantize, in[1]->dtype));
  ReadScale zero = nullptr;
  if (in.size() > 2) {
    BYOC_TRY(zero, reader_of(kBlockDequantize, in[2]->dtype));
  }
  return for_dtype(kBlockDequantize, out[0]->dtype, MatrixTypes{}, [&]<class T>() -> RefKernel {
    return [=](const void* const* from, void* const* to) {
      const BlockWeights weights{blocks, scale, zero, from};
      T* y = out_as<T>(to, 0);
      for (int64_t row = 0; row < blocks.k; ++row) {
        for (int64_t column = 0; column < blocks.n; ++column)
          *y++ = static_cast<T>(weights.at(row, column));
      }
    };
  });
}

// Sums in f64, so that other orders of the sums are compared with a better one.
template <class Weight>
void multiply_rows(const float* x, int64_t rows, int64_t k, int64_t n, float* y,
                   const Weight& weight) {
  for (int64_t m = 0; m < rows; ++m, x += k) {
    for (int64_t column = 0; column < n; ++column) {
      double sum = 0;
      for (int64_t r = 0; r < k; ++r) sum += static_cast<double>(x[r]) * weight(r, column);
      *y++ = static_cast<float>(sum);
    }
  }
}

Result<std::vector<TensorType>> infer_round(Types in, const Attrs& attrs) {
  BYOC_TRY_STATUS(expect_dtype(kRound, "x", in[0], {DType::kF32}));
  BYOC_TRY_STATUS(check_rounding(kRound, attrs.i("block"), 8));
  if (in[0]->shape.empty() || !in[0]->shape.back().is_static())
    return invalid(cat(kRound, ": x must have a known number of columns, it is ", in[0]))
        .with_slug("op-shape");
  return one_result(*in[0]);
}

Result<RefKernel> reference_round(Types in, Types, const Attrs& attrs) {
  const int64_t k = in[0]->shape.back().extent(), block = attrs.i("block");
  const int64_t rows = k == 0 ? 0 : count(in[0]) / k;
  return RefKernel([=](const void* const* from, void* const* to) {
    round_rows(in_as<float>(from, 0), rows, k, block, out_as<float>(to, 0));
  });
}

Result<Tensors> compute_round(te::Builder& builder, Inputs in, Types, const Attrs& attrs) {
  return one(rounded_rows(builder, in[0], attrs.i("block")));
}

Result<RefKernel> reference_block_product(Types in, Types out, const Attrs& attrs) {
  const int64_t k = in[0]->shape.back().extent();
  BYOC_TRY(Blocks blocks, blocks_of(kBlockProduct, in.subspan(1), attrs, k));
  BYOC_TRY(ReadScale scale, reader_of(kBlockProduct, in[2]->dtype));
  ReadScale zero = nullptr;
  if (in.size() > 3) {
    BYOC_TRY(zero, reader_of(kBlockProduct, in[3]->dtype));
  }
  const int64_t rows = blocks.n == 0 ? 0 : count(out[0]) / blocks.n;
  const bool is_rounded = attrs.i("row_bits") != 0;
  return RefKernel([=](const void* const* from, void* const* to) {
    const BlockWeights weights{blocks, scale, zero, from + 1};
    std::vector<float> rounded(static_cast<size_t>(is_rounded ? rows * k : 0));
    const float* x = in_as<float>(from, 0);
    if (is_rounded) round_rows(x, rows, k, blocks.block, rounded.data());
    multiply_rows(is_rounded ? rounded.data() : x, rows, k, blocks.n, out_as<float>(to, 0),
                  [&](int64_t r, int64_t column) { return weights.at(r, column); });
  });
}

Result<RefKernel> reference_widened(Types in, Types out, const Attrs& attrs) {
  const bool is_transposed = attrs.b("trans_b", false);
  const int64_t k = in[0]->shape.back().extent(), n = out[0]->shape.back().extent();
  const int64_t rows = n == 0 ? 0 : count(out[0]) / n;
  const int64_t step = is_transposed ? 1 : n, stride = is_transposed ? k : 1;
  return for_dtype(kWidened, in[1]->dtype, TypeList<f16, bf16>{}, [&]<class T>() -> RefKernel {
    return [=](const void* const* from, void* const* to) {
      const T* weight = in_as<T>(from, 1);
      multiply_rows(in_as<float>(from, 0), rows, k, n, out_as<float>(to, 0),
                    [&](int64_t r, int64_t column) {
                      return static_cast<float>(weight[r * step + column * stride]);
                    });
    };
  });
}

Result<Tensors> compute_block_dequantize(te::Builder& builder, Inputs in, Types out,
                                         const Attrs& attrs) {
  const Tensor zero = in.size() > 2 ? in[2] : Tensor();
  return one(
      builder.compute(std::string(kBlockDequantize), te::extents_of(*out[0]), [&](const Exprs& i) {
        return converted_to(out[0]->dtype, block_weight(in[0], in[1], zero, attrs, i[0], i[1]));
      }));
}

template <class Weight>
Result<Tensors> compute_row_sums(te::Builder& builder, std::string_view op, const Tensor& x,
                                 const TensorType& y, const Weight& weight) {
  auto term = [&](const Exprs& i, const Exprs& r) {
    Exprs at = i;
    at.back() = r[0];
    return x(at) * weight(r[0], i.back());
  };
  return one(builder.reduce(std::string(op), te::extents_of(y), {x.shape().back()},
                            te::sum_of(DType::kF32), term));
}

Result<Tensors> compute_block_product(te::Builder& builder, Inputs in, Types out,
                                      const Attrs& attrs) {
  const Tensor zero = in.size() > 3 ? in[3] : Tensor();
  const Tensor x =
      attrs.i("row_bits") == 0 ? in[0] : rounded_rows(builder, in[0], attrs.i("block"));
  return compute_row_sums(builder, kBlockProduct, x, *out[0],
                          [&](const Expr& row, const Expr& column) {
                            return block_weight(in[1], in[2], zero, attrs, row, column);
                          });
}

Result<Tensors> compute_widened(te::Builder& builder, Inputs in, Types out, const Attrs& attrs) {
  const bool is_transposed = attrs.b("trans_b", false);
  return compute_row_sums(builder, kWidened, in[0], *out[0],
                          [&](const Expr& row, const Expr& column) {
                            return widened(is_transposed ? in[1](column, row) : in[1](row, column));
                          });
}

double flops_of_rows(Types in, Types out, const Attrs&) {
  return 2 * flop_count(out[0]) * static_cast<double>(in[0]->shape.back().extent());
}

std::vector<InputSpec> with_matrix(std::vector<InputSpec> first) {
  first.push_back({"codes", "u8 [n, bytes]: the entries of a column of the matrix, whole blocks"});
  first.push_back({"scale", "f32 or f16 [n, blocks]"});
  first.push_back({"zero_point", "u8, f32 or f16 [n, blocks]; absent: 2^(bits - 1)", true});
  return first;
}

std::vector<AttrSpec> block_attrs() {
  return {{"bits", int64_t{4},
           "of an entry: 4, of which a byte has the even one in its low half, "
           "or 8"},
          {"block", int64_t{32}, "entries of a column with one scale, a multiple of 8"}};
}

OpDef dequantize_blocks() {
  OpDef op{.name = std::string(kBlockDequantize)};
  op.doc = "The matrix (codes - zero_point) * scale, with columns in blocks.";
  op.inputs = with_matrix({});
  op.outputs = {{"y", "of type `to` [rows, n]"}};
  op.attrs = block_attrs();
  op.attrs.push_back(
      {"rows", int64_t{0}, "of the matrix; later entries are not read", AttrSpec::kRequired});
  op.attrs.push_back({"to", DType::kF32, "f32, f16 or bf16"});
  op.infer = infer_block_dequantize;
  op.reference = reference_block_dequantize;
  op.compute = compute_block_dequantize;
  op.facts = {.family = OpFamily::kDequantize};
  return op;
}

OpDef matmul_blocks() {
  OpDef op{.name = std::string(kBlockProduct), .kind = FusionKind::kAnchor};
  op.doc = "Rows times the matrix that dequantize_blocks returns.";
  op.inputs = with_matrix({{"x", "f32 [..., m, k]"}});
  op.outputs = {{"y", "f32 [..., m, n]"}};
  op.attrs = block_attrs();
  op.attrs.push_back({"row_bits", int64_t{0}, "8: x is what round_rows makes of it; 0: as it is"});
  op.infer = infer_block_product;
  op.reference = reference_block_product;
  op.compute = with_open_sizes(compute_block_product);
  op.flops = flops_of_rows;
  op.facts = {.family = OpFamily::kProduct};
  return op;
}

OpDef round_rows_op() {
  OpDef op{.name = std::string(kRound)};
  op.doc =
      "x in 8 bits: each block of the last dim is rounded to multiples of its largest magnitude / "
      "127, halves to the even one. Blocks whose largest magnitude is at most 1e-36 become 0.";
  op.inputs = {{"x", "f32 [..., k]"}};
  op.outputs = {{"y", "like x"}};
  op.attrs = {{"block", int64_t{32}, "elements with one step, a multiple of 8"}};
  op.infer = infer_round;
  op.reference = reference_round;
  op.compute = with_open_sizes(compute_round);
  return op;
}

OpDef matmul_widened() {
  OpDef op{.name = std::string(kWidened), .kind = FusionKind::kAnchor};
  op.doc = "Rows times a matrix of 16-bit floats, computed in f32.";
  op.inputs = {{"x", "f32 [..., m, k]"}, {"weight", "f16 or bf16 [k, n], or [n, k] with trans_b"}};
  op.outputs = {{"y", "f32 [..., m, n]"}};
  op.attrs = {{"trans_b", false, "the weight is stored transposed"}};
  op.infer = infer_widened;
  op.reference = reference_widened;
  op.compute = with_open_sizes(compute_widened);
  op.flops = flops_of_rows;
  op.facts = {.family = OpFamily::kProduct, .weight = 1};
  return op;
}

}  // namespace

void add_block_product_ops(OpRegistry& ops) {
  ops.add(dequantize_blocks());
  ops.add(matmul_blocks());
  ops.add(matmul_widened());
  ops.add(round_rows_op());
}

}  // namespace byoc::op
