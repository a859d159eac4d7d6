// SPDX-License-Identifier: Apache-2.0
// MatMulNBits: a product with weights of 2, 4 or 8 bits, which have a scale and a zero point per
// block of rows.
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
    return unimplemented(cat("bits is ", blocks.bits, ", only 2, 4 and 8 are supported"));
  if (blocks.k < 1 || blocks.n < 1 || blocks.size < 16 || (blocks.size & (blocks.size - 1)) != 0)
    return invalid(cat("K is ", blocks.k, ", N ", blocks.n, " and block_size ", blocks.size,
                       ", expected positive ones and a power of 2 from 16 on"));
  if (int64_t packed = node.i("weight_prepacked", 0))
    return unimplemented(
        cat("weight_prepacked is ", packed, ", a layout of one kind of graphics processor"));
  if (node.has_input(4)) return unimplemented("its input g_idx is not supported");
  return blocks;
}

// Returns the entries of packed bytes [n, bytes...] as u8 [n, entries].
ValueId unpacked(Graph& graph, ValueId packed, const Blocks& blocks) {
  packed = reshaped(graph, packed, {blocks.n, -1, 1});
  std::vector<ValueId> parts;
  for (int64_t at = 0; at < 8; at += blocks.bits) {
    ValueId part = packed;
    if (at > 0)
      part = graph.call("bit_shift", {part, graph.scalar(DType::kU8, static_cast<double>(at))},
                        {{"direction", "right"}});
    if (at + blocks.bits < 8) {
      const double mask = static_cast<double>((1 << blocks.bits) - 1);
      part = graph.call("bitwise_and", {part, graph.scalar(DType::kU8, mask)});
    }
    parts.push_back(part);
  }
  ValueId all = parts.size() == 1 ? parts[0] : concatenated(graph, parts, 2);
  return reshaped(graph, all, {blocks.n, -1});
}

// Returns the zero points as [n, blocks, 1], or one for all.
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

Converted matmul_nbits(Graph& graph, const OnnxNode& node) {
  BYOC_TRY(Blocks blocks, read_blocks(node));
  BYOC_TRY_STATUS(check_packed(graph, blocks));
  const DType dtype = graph.type(graph.input(2)).dtype;
  ValueId codes = reshaped(graph, unpacked(graph, graph.input(1), blocks),
                           {blocks.n, blocks.count(), blocks.size});
  ValueId shift =
      graph.call("subtract", {cast_to(graph, codes, dtype), zero_points(graph, blocks, dtype)});
  ValueId scales = reshaped(graph, graph.input(2), {blocks.n, blocks.count(), 1});
  ValueId weight =
      reshaped(graph, multiply(graph, shift, scales), {blocks.n, blocks.count() * blocks.size});
  if (blocks.count() * blocks.size != blocks.k) weight = sliced(graph, weight, 1, 0, blocks.k);
  ValueId y = graph.call("matmul", {graph.input(0), transposed(graph, weight, {1, 0})});
  if (Value bias = graph.optional_input(5)) y = add(graph, y, *bias);
  return std::vector{y};
}

constexpr Row kBlocksRows[] = {
    {"MatMulNBits", 1, 1, matmul_nbits},
};

}  // namespace

std::span<const Row> microsoft_blocks_rows() { return kBlocksRows; }

}  // namespace byoc::onnx_import
