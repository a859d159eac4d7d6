// SPDX-License-Identifier: Apache-2.0
// Integers as numbers. Those of 8 and 16 bits with f32 scales are dequantize, constant matrices of
// 4 and 8 bits with a scale per block dequantize_blocks, which products read as it is stored. All
// else is converted into its steps: integers are shifted by their zero points and scaled as floats.
#include <algorithm>

#include "core/import/onnx/file/dtypes.h"
#include "core/import/onnx/rows/cast.h"
#include "core/import/onnx/rows/quantize.h"
#include "core/import/onnx/rows/steps.h"

namespace byoc::onnx_import {
namespace {

/// A constant matrix of integers: [k, n] where `is_k_first`, else [n, k]. Blocks are along k.
struct Codes {
  int64_t k, n, block, bits;
  bool is_k_first, has_sign;
  int64_t blocks() const { return (k + block - 1) / block; }
  uint8_t middle() const { return static_cast<uint8_t>(1u << (bits - 1)); }
};

// Returns integers [rows, n], or [n, rows], as columns [n, stride] of `bits` each, the even one of
// 4 bits in the low half of a byte. Integers with a sign are raised by the middle of the range, so
// that the least one is 0.
std::shared_ptr<const Buffer> columns(const Buffer& x, const Codes& codes, int64_t rows,
                                      int64_t stride, int64_t bits) {
  constexpr int64_t kTile = 64;  // columns that are written at once, as rows are read
  const auto* from = reinterpret_cast<const uint8_t*>(x.data());
  const int64_t bytes = stride * bits / 8, n = codes.n;
  const unsigned flip = codes.has_sign ? codes.middle() : 0, mask = (1u << codes.bits) - 1;
  return Buffer::make(static_cast<size_t>(n * bytes), [&](std::byte* out) {
    auto* to = reinterpret_cast<uint8_t*>(out);
    std::fill_n(to, n * bytes, uint8_t{0});
    for (int64_t first = 0; first < n; first += kTile) {
      for (int64_t row = 0; row < rows; ++row) {
        const unsigned shift = bits == 4 && row % 2 != 0 ? 4 : 0;
        for (int64_t column = first; column < std::min(first + kTile, n); ++column) {
          const unsigned code = from[codes.is_k_first ? row * n + column : column * rows + row];
          to[column * bytes + row * bits / 8] |=
              static_cast<uint8_t>(((code ^ flip) & mask) << shift);
        }
      }
    }
  });
}

// Returns the form of input 0 if it is a constant matrix of 4 or 8 bits in blocks that the op has.
std::optional<Codes> codes_of(Graph& graph, Value zero_point, const Grains& grains) {
  const ValueId x = graph.input(0);
  const NarrowType* narrow = graph.narrow(x);
  const DType stored = graph.type(x).dtype;
  const bool is_integer = stored == DType::kU8 || stored == DType::kI8;
  const Shape& shape = graph.type(x).shape;
  if (!is_integer || (narrow != nullptr && (narrow->is_float() || narrow->bits != 4)) ||
      shape.size() != 2 || graph.const_bytes(x) == nullptr || graph.const_bytes(x)->size() == 0)
    return std::nullopt;
  constexpr int64_t kGroup = 8, kMostBlock = int64_t{1} << 20;
  if (grains.block < kGroup || grains.block % kGroup != 0 || grains.block > kMostBlock)
    return std::nullopt;
  if (zero_point &&
      (graph.const_bytes(*zero_point) == nullptr || graph.narrow(*zero_point) != narrow ||
       graph.type(*zero_point) != TensorType{stored, graph.type(graph.input(1)).shape}))
    return std::nullopt;
  const Ints extents = static_extents(shape);
  return Codes{extents[grains.axis],      extents[1 - grains.axis], grains.block,
               narrow != nullptr ? 4 : 8, grains.axis == 0,         stored == DType::kI8};
}

// Returns the zero points [n, blocks] as codes, or nothing where all are the middle of the range,
// which the op has without them.
Value zeros_of(Graph& graph, const Codes& codes, Value zero_point) {
  const TensorType type{DType::kU8, {Dim(codes.n), Dim(codes.blocks())}};
  std::shared_ptr<const Buffer> zeros;
  if (zero_point) {
    zeros = columns(*graph.const_bytes(*zero_point), codes, codes.blocks(), codes.blocks(), 8);
  } else if (!codes.has_sign) {
    zeros = Buffer::make(static_cast<size_t>(codes.n * codes.blocks()), [&](std::byte* out) {
      std::fill_n(out, codes.n * codes.blocks(), std::byte{0});
    });
  }
  const auto is_middle = [&](std::byte zero) {
    return std::to_integer<uint8_t>(zero) == codes.middle();
  };
  if (zeros == nullptr || std::ranges::all_of(zeros->bytes(), is_middle)) return std::nullopt;
  return graph.constant(type, std::move(zeros));
}

// Returns a matrix in blocks as the op that keeps it packed, in the layout of x.
Value as_blocks(Graph& graph, Value zero_point, const Grains& grains, DType to) {
  const ValueId x = graph.input(0);
  const std::optional<Codes> codes = codes_of(graph, zero_point, grains);
  if (!codes || (to != DType::kF32 && to != DType::kF16 && to != DType::kBF16)) return std::nullopt;
  const int64_t stride = codes->blocks() * codes->block;
  const TensorType packed{DType::kU8, {Dim(codes->n), Dim(stride * codes->bits / 8)}};
  ValueId scale = numbers_of(graph, graph.input(1));
  if (graph.type(scale).dtype != DType::kF16) scale = cast_to(graph, scale, DType::kF32);
  if (codes->is_k_first) scale = transposed(graph, scale, {1, 0});
  std::vector<ValueId> args = {
      graph.constant(packed, columns(*graph.const_bytes(x), *codes, codes->k, stride, codes->bits)),
      scale};
  if (Value zeros = zeros_of(graph, *codes, zero_point)) args.push_back(*zeros);
  const ValueId matrix =
      graph.call("dequantize_blocks", args,
                 {{"bits", codes->bits}, {"block", codes->block}, {"rows", codes->k}, {"to", to}});
  return codes->is_k_first ? matrix : transposed(graph, matrix, {1, 0});
}

}  // namespace

// Returns whether all elements are known to be 0.
bool is_zero(Graph& graph, ValueId value) {
  std::optional<Ints> values = graph.const_ints(value);
  return values && std::all_of(values->begin(), values->end(), [](int64_t v) { return v == 0; });
}

// Returns the op dequantize, where it computes what is meant. Zero points of 0 are left out.
Value as_dequantize(Graph& graph, ValueId x, ValueId scale, Value zero_point,
                    const Grains& grains) {
  const DType from = graph.type(x).dtype;
  if (!fits_op(graph, scale, zero_point, grains) || graph.narrow(x) != nullptr ||
      !(is_small_integer(from) || from == DType::kI32))
    return std::nullopt;
  if (zero_point && graph.type(*zero_point).dtype != from) return std::nullopt;
  std::vector<ValueId> args{x, scale};
  if (zero_point && !is_zero(graph, *zero_point)) args.push_back(*zero_point);
  return graph.call("dequantize", args, {{"axis", static_cast<int64_t>(grains.axis)}});
}

Converted dequantize_linear(Graph& graph, const OnnxNode& node) {
  BYOC_TRY(Grains grains, read_grains(graph, node));
  ValueId scale = numbers_of(graph, graph.input(1));
  DType to = graph.type(scale).dtype;
  if (int64_t given = node.i("output_dtype", 0)) {
    BYOC_TRY(to, dtype_from_onnx(static_cast<int32_t>(given)));
  }
  Value op = grains.block > 0
                 ? as_blocks(graph, graph.optional_input(2), grains, to)
                 : as_dequantize(graph, graph.input(0), scale, graph.optional_input(2), grains);
  if (op && graph.type(*op).dtype == to) return std::vector{*op};
  ValueId y = cast_to(graph, shifted(graph, graph.input(0), graph.optional_input(2), grains), to);
  return std::vector{graph.call("multiply", {y, spread(graph, cast_to(graph, scale, to), grains)})};
}

namespace {

constexpr Row kDequantizeRows[] = {
    {"DequantizeLinear", 10, kNewest, dequantize_linear},
};

}  // namespace

std::span<const Row> dequantize_rows() { return kDequantizeRows; }

}  // namespace byoc::onnx_import
