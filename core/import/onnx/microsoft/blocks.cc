// SPDX-License-Identifier: Apache-2.0
// Weights of 2, 4 or 8 bits with a scale and a zero point per block: MatMulNBits, a product with
// them, and GatherBlockQuantized, rows of them.
#include "core/import/onnx/operands.h"
#include "core/import/onnx/rows/quantize.h"
#include "core/import/onnx/rows/steps.h"

namespace byoc::onnx_import {
namespace {

// w [n, k] is stored as u8 [n, blocks, size * bits / 8], the lowest bits first.
struct Blocks {
  int64_t k, n, size, bits;
  int64_t count() const { return (k + size - 1) / size; }
};

Result<Blocks> read_blocks(const OnnxNode& node) {
  Blocks blocks{node.i("K", 0), node.i("N", 0), node.i("block_size", 0), node.i("bits", 4)};
  if (blocks.bits != 2 && blocks.bits != 4 && blocks.bits != 8)
    return unimplemented(cat("bits is ", blocks.bits, ", only 2, 4 and 8 are supported"))
        .with_help("quantise the weights to 2, 4 or 8 bits");
  if (blocks.k < 1 || blocks.n < 1 || blocks.size < 16 || (blocks.size & (blocks.size - 1)) != 0)
    return invalid(cat("K is ", blocks.k, ", N ", blocks.n, " and block_size ", blocks.size,
                       ", expected positive ones and a power of 2 from 16 on"));
  if (int64_t packed = node.i("weight_prepacked", 0))
    return unimplemented(
               cat("weight_prepacked is ", packed, ", a layout of one kind of graphics processor"))
        .with_help("use the model as the quantizer wrote it, before the weights were packed");
  if (node.has_input(4))
    return unimplemented("its input g_idx, the group of each row of B, is not supported")
        .with_help("quantise the weights in their own order: GPTQ without act_order (desc_act)");
  return blocks;
}

// Returns the entries of packed bytes [..., bytes, 1] as u8 [..., bytes, entries per byte].
ValueId entries_of(Graph& graph, ValueId packed, int64_t bits) {
  std::vector<ValueId> parts;
  for (int64_t at = 0; at < 8; at += bits) {
    ValueId part = packed;
    if (at > 0)
      part = graph.call("bit_shift", {part, graph.scalar(DType::kU8, static_cast<double>(at))},
                        {{"direction", "right"}});
    if (at + bits < 8) {
      const double mask = static_cast<double>((1 << bits) - 1);
      part = graph.call("bitwise_and", {part, graph.scalar(DType::kU8, mask)});
    }
    parts.push_back(part);
  }
  return parts.size() == 1 ? parts[0] : concatenated(graph, parts, -1);
}

// Returns the entries of packed bytes [n, bytes...] as u8 [n, entries].
ValueId unpacked(Graph& graph, ValueId packed, const Blocks& blocks) {
  packed = reshaped(graph, packed, {blocks.n, -1, 1});
  return reshaped(graph, entries_of(graph, packed, blocks.bits), {blocks.n, -1});
}

// Returns the zero points as [n, blocks, 1], or one for all, for entries as numbers.
ValueId zero_points(Graph& graph, const Blocks& blocks, DType dtype) {
  Value given = graph.optional_input(3);
  if (!given) return graph.scalar(dtype, static_cast<double>(1 << (blocks.bits - 1)));
  if (graph.type(*given).dtype == DType::kU8)
    given = sliced(graph, unpacked(graph, *given, blocks), 1, 0, blocks.count());
  return cast_to(graph, reshaped(graph, *given, {blocks.n, blocks.count(), 1}), dtype);
}

Status check_packed(Graph& graph, const Blocks& blocks) {
  const TensorType &b = graph.type(graph.input(1)), &scales = graph.type(graph.input(2));
  const int64_t entries = blocks.n * blocks.count();
  const auto has = [](const TensorType& type, int64_t size) {
    Result<int64_t> n = num_elements(type.shape);
    return n.ok() && *n == size;
  };
  if (b.dtype == DType::kU8 && has(b, entries * (blocks.size * blocks.bits / 8)) &&
      has(scales, entries))
    return {};
  return invalid(cat("B is ", b, " and scales ", scales, ", expected u8[", blocks.n, ",",
                     blocks.count(), ",", blocks.size * blocks.bits / 8, "] and one scale per ",
                     "block"));
}

// Returns the matrix [k, n] as ops on entries, for 2 bits.
ValueId matrix_of_entries(Graph& graph, const Blocks& blocks) {
  const DType dtype = graph.type(graph.input(2)).dtype;
  ValueId codes = reshaped(graph, unpacked(graph, graph.input(1), blocks),
                           {blocks.n, blocks.count(), blocks.size});
  ValueId shift =
      graph.call("subtract", {cast_to(graph, codes, dtype), zero_points(graph, blocks, dtype)});
  ValueId scales = reshaped(graph, graph.input(2), {blocks.n, blocks.count(), 1});
  ValueId weight =
      reshaped(graph, multiply(graph, shift, scales), {blocks.n, blocks.count() * blocks.size});
  if (blocks.count() * blocks.size != blocks.k) weight = sliced(graph, weight, 1, 0, blocks.k);
  return transposed(graph, weight, {1, 0});
}

// Returns the matrix [k, n] of f32 as one op, which products may compute from the packed bytes.
ValueId matrix_of_blocks(Graph& graph, const Blocks& blocks) {
  auto grains = [&](ValueId x) {
    const bool is_held = graph.type(x).dtype == DType::kU8 || graph.type(x).dtype == DType::kF16;
    return reshaped(graph, is_held ? x : cast_to(graph, x, DType::kF32),
                    {blocks.n, blocks.count()});
  };
  std::vector<ValueId> args = {
      reshaped(graph, graph.input(1), {blocks.n, blocks.count() * blocks.size * blocks.bits / 8}),
      grains(graph.input(2))};
  if (Value given = graph.optional_input(3)) {
    if (graph.type(*given).dtype == DType::kU8)
      given = sliced(graph, unpacked(graph, *given, blocks), 1, 0, blocks.count());
    args.push_back(grains(*given));
  }
  return graph.call("dequantize_blocks", args,
                    {{"bits", blocks.bits}, {"block", blocks.size}, {"rows", blocks.k}});
}

// Returns the rows as ONNX Runtime multiplies them where the node lets it round them to 8 bits.
// It does not with zero points of floats.
ValueId rounded_where_allowed(Graph& graph, const OnnxNode& node, ValueId x, const Blocks& blocks) {
  constexpr int64_t kEightBits = 4;
  const Value zero = graph.optional_input(3);
  const bool is_float = zero && graph.type(*zero).dtype != DType::kU8;
  if (node.i("accuracy_level", 0) != kEightBits || is_float) return x;
  return graph.call("round_rows", {x}, {{"block", blocks.size}});
}

Converted matmul_nbits(Graph& graph, const OnnxNode& node) {
  BYOC_TRY(Blocks blocks, read_blocks(node));
  BYOC_TRY_STATUS(check_packed(graph, blocks));
  const DType dtype = graph.type(graph.input(0)).dtype;
  ValueId y;
  if (blocks.bits == 2) {
    y = graph.call("matmul", {graph.input(0), matrix_of_entries(graph, blocks)});
  } else {
    ValueId x = cast_to(graph, graph.input(0), DType::kF32);
    x = rounded_where_allowed(graph, node, x, blocks);
    y = cast_to(graph, graph.call("matmul", {x, matrix_of_blocks(graph, blocks)}), dtype);
  }
  if (Value bias = graph.optional_input(5)) y = add(graph, y, *bias);
  return std::vector{y};
}

// ---- GatherBlockQuantized

// The codes of a table, u8 with several entries per byte of the last dim, or one per element.
struct Coded {
  int64_t bits;
  bool is_packed;
};

// Returns rows of codes with their entries as numbers. `axis`: of the rows.
Result<ValueId> gathered_codes(Graph& graph, ValueId table, ValueId rows, size_t axis,
                               const Coded& coded) {
  ValueId y = graph.call("gather", {table, rows}, {{"axis", static_cast<int64_t>(axis)}});
  if (!coded.is_packed || coded.bits == 8) return y;
  const Shape& shape = graph.type(y).shape;
  if (shape.empty()) return y;  // its operands failed
  if (!is_static(shape))
    return unimplemented(cat("its result must have known sizes, it is ", graph.type(y)));
  Ints wide = static_extents(shape);
  wide.back() *= 8 / coded.bits;
  ValueId entries = entries_of(graph, unsqueezed(graph, y, {-1}), coded.bits);
  return graph.call("reshape", {entries}, {{"shape", wide}, {"allow_zero", true}});
}

Status check_table(Graph& graph, const Coded& coded, size_t axis, size_t quantized_axis) {
  if (graph.rank(graph.input(2)) != graph.rank(graph.input(0)))
    return invalid(cat("its scales must have the rank of data, they are ",
                       graph.type(graph.input(2)), " and ", graph.type(graph.input(0))));
  if (coded.bits != 2 && coded.bits != 4 && coded.bits != 8)
    return unimplemented(cat("bits is ", coded.bits, ", only 2, 4 and 8 are supported"));
  const NarrowType* narrow = graph.narrow(graph.input(0));
  if (narrow != nullptr && narrow->is_float())
    return unimplemented(cat("data of type ", narrow->name, " is not supported"));
  if (axis == quantized_axis)
    return unimplemented("gather_axis and quantize_axis are one, which is not supported");
  return {};
}

// Gathers the codes, and their scales and zero points likewise, before they become numbers.
Converted gather_block_quantized(Graph& graph, const OnnxNode& node) {
  ValueId table = graph.input(0), rows = graph.input(1);
  const size_t rank = graph.rank(table);
  BYOC_TRY(size_t axis, normal_axis(node.i("gather_axis", 0), rank));
  BYOC_TRY(size_t quantized_axis, normal_axis(node.i("quantize_axis", 1), rank));
  const Coded coded{node.i("bits", 4), graph.narrow(table) == nullptr};
  BYOC_TRY_STATUS(check_table(graph, coded, axis, quantized_axis));
  rows = cast_to(graph, rows, DType::kI64);
  BYOC_TRY(ValueId codes, gathered_codes(graph, table, rows, axis, coded));
  ValueId scales =
      graph.call("gather", {graph.input(2), rows}, {{"axis", static_cast<int64_t>(axis)}});
  const TensorType type = graph.type(codes);
  if (!is_static(type.shape) || !is_static(graph.type(scales).shape))
    return unimplemented(cat("its result must have known sizes, it is ", type));
  const size_t moved = quantized_axis + (quantized_axis > axis ? graph.rank(rows) - 1 : 0);
  const Grains grains{moved, node.i("block_size", 128), type.shape};
  const DType dtype = graph.type(scales).dtype;
  ValueId y = cast_to(graph, codes, dtype);
  if (Value given = graph.optional_input(3)) {
    BYOC_TRY(ValueId zeros, gathered_codes(graph, *given, rows, axis, coded));
    if (graph.rank(scales) <= moved) return invalid("its scales do not fit the data");
    zeros = sliced(graph, zeros, static_cast<int64_t>(moved), 0,
                   graph.type(scales).shape[moved].extent());
    y = graph.call("subtract", {y, spread(graph, cast_to(graph, zeros, dtype), grains)});
  } else if (coded.is_packed) {
    const double middle = static_cast<double>(1 << (coded.bits - 1));
    y = graph.call("subtract", {y, graph.scalar(dtype, middle)});
  }
  return std::vector{multiply(graph, y, spread(graph, scales, grains))};
}

constexpr Row kBlocksRows[] = {
    {"GatherBlockQuantized", 1, 1, gather_block_quantized},
    {"MatMulNBits", 1, 1, matmul_nbits},
};

}  // namespace

std::span<const Row> microsoft_blocks_rows() { return kBlocksRows; }

}  // namespace byoc::onnx_import
