// SPDX-License-Identifier: Apache-2.0
// Matrices of few bits and products with them. Codes become DequantizeLinear with a block_size,
// which readers may keep packed: the bytes are written as they are.
#include "core/export/rows.h"

namespace byoc::onnx_export {
namespace {

/// The operands and attributes of a matrix in blocks. `first`: the operand with the codes.
struct Matrix {
  size_t first;
  int64_t k, n, block, bits;
  int64_t blocks() const { return (k + block - 1) / block; }
  int64_t whole() const { return blocks() * block; }
  double middle() const { return static_cast<double>(int64_t{1} << (bits - 1)); }
};

Matrix matrix_of(const Call& call, size_t first, int64_t k) {
  return {first, k, call.input_type(first).shape[0].extent(), call.attrs().i("block"),
          call.attrs().i("bits")};
}

bool has_zero(const Call& call, const Matrix& m) { return call.num_inputs() > m.first + 2; }

std::string reshaped(Call& call, const std::string& x, const Ints& shape) {
  return call.value("Reshape", {x, call.ints(shape)});
}

std::string as_f32(Call& call, const std::string& x, DType from) {
  return from == DType::kF32 ? x : call.cast(x, DType::kF32);
}

// Returns the zero points in the type of the codes.
std::string zero_points(Call& call, const Matrix& m) {
  const Ints shape{m.n, m.blocks()};
  std::vector<uint8_t> zeros(static_cast<size_t>(m.n * m.blocks()),
                             static_cast<uint8_t>(m.middle()));
  if (has_zero(call, m)) {
    if (m.bits == 8) return call.input(m.first + 2);
    const auto bytes = call.input_data(m.first + 2)->bytes();
    for (size_t k = 0; k < zeros.size(); ++k) zeros[k] = std::to_integer<uint8_t>(bytes[k]);
  }
  if (m.bits == 4) return call.nibbles(shape, zeros);
  return call.filled({DType::kU8, make_shape(shape)}, m.middle());
}

// Returns whether the zero points have a form in the type of the codes.
bool has_plain_zeros(const Call& call, const Matrix& m) {
  if (!has_zero(call, m)) return true;
  const size_t at = m.first + 2;
  if (call.input_type(at).dtype != DType::kU8) return false;
  const Buffer* data = call.input_data(at);
  if (m.bits == 8) return true;
  if (data == nullptr) return false;
  for (std::byte zero : data->bytes()) {
    if (std::to_integer<int>(zero) > 15) return false;
  }
  return true;
}

// Returns the codes [n, whole] as u8. Those of 4 bits in bytes are not constants.
std::string codes_of(Call& call, const Matrix& m) {
  const std::string& codes = call.input(m.first);
  if (m.bits == 8) return codes;
  if (call.reads_nibbles(m.first)) return call.cast(codes, DType::kU8);
  call.need(18);  // BitwiseAnd
  const std::string low = call.value("BitwiseAnd", {codes, call.scalar(DType::kU8, 15)});
  const std::string high = call.value("BitShift", {codes, call.scalar(DType::kU8, 4)});
  add_attribute(call.last(), "direction", std::string("RIGHT"));
  const std::string last = call.ints({-1});
  const std::string pairs = call.value(
      "Concat", {call.value("Unsqueeze", {low, last}), call.value("Unsqueeze", {high, last})});
  add_attribute(call.last(), "axis", int64_t{-1});
  return reshaped(call, pairs, {m.n, m.whole()});
}

// Returns (codes - zero_point) * scale in steps, [n, whole].
std::string columns_in_steps(Call& call, const Matrix& m) {
  const Ints grains{m.n, m.blocks(), 1};
  std::string codes = call.cast(codes_of(call, m), DType::kF32);
  codes = reshaped(call, codes, {m.n, m.blocks(), m.block});
  std::string zero = call.scalar(DType::kF32, m.middle());
  if (has_zero(call, m)) {
    const DType dtype = call.input_type(m.first + 2).dtype;
    zero = reshaped(call, as_f32(call, call.input(m.first + 2), dtype), grains);
  }
  const std::string scale =
      as_f32(call, call.input(m.first + 1), call.input_type(m.first + 1).dtype);
  const std::string shifted = call.value("Sub", {codes, zero});
  return reshaped(call, call.value("Mul", {shifted, reshaped(call, scale, grains)}),
                  {m.n, m.whole()});
}

// Returns the columns [n, whole] of f32.
std::string columns_of(Call& call, const Matrix& m) {
  const bool has_codes = m.bits == 8 || call.reads_nibbles(m.first);
  if (!has_codes || !has_plain_zeros(call, m)) return columns_in_steps(call, m);
  call.need(21);
  const std::string scale =
      as_f32(call, call.input(m.first + 1), call.input_type(m.first + 1).dtype);
  const std::string zeros = zero_points(call, m);
  const std::string out = call.value("DequantizeLinear", {call.input(m.first), scale, zeros});
  add_attribute(call.last(), "axis", int64_t{1});
  add_attribute(call.last(), "block_size", m.block);
  return out;
}

// Returns the matrix [n, k] of f32.
std::string transposed_matrix(Call& call, const Matrix& m) {
  const std::string columns = columns_of(call, m);
  if (m.whole() == m.k) return columns;
  return call.value("Slice", {columns, call.ints({0}), call.ints({m.k}), call.ints({1})});
}

// Appends the last node of the call.
void add_transpose(Call& call, const std::string& x, const Names& outputs) {
  add_attribute(call.add("Transpose", {x}, outputs), "perm", Ints{1, 0});
}

Status dequantize_blocks(Call& call) {
  const std::string matrix = transposed_matrix(call, matrix_of(call, 0, call.attrs().i("rows")));
  const DType to = call.attrs().dtype("to");
  add_transpose(call, to == DType::kF32 ? matrix : call.cast(matrix, to), call.outputs());
  return {};
}

// Returns x with its blocks rounded as round_rows does.
std::string rounded_rows(Call& call, int64_t block) {
  call.need(18);  // ReduceMax with axes as an operand
  const size_t rank = call.input_type(0).shape.size();
  const int64_t k = call.input_type(0).shape.back().extent(), blocks = (k + block - 1) / block;
  std::string x = call.input(0);
  if (k != blocks * block) {
    Ints pads(2 * rank, 0);
    pads.back() = blocks * block - k;
    x = call.value("Pad", {x, call.ints(pads)});
  }
  Ints shape(rank - 1, 0);  // 0: as before
  shape.insert(shape.end(), {blocks, block});
  x = reshaped(call, x, shape);
  auto number = [&](double value) { return call.scalar(DType::kF32, value); };
  const std::string most = call.value("ReduceMax", {call.value("Abs", {x}), call.ints({-1})});
  const std::string steps =
      call.value("Where", {call.value("Greater", {most, number(1e-36)}),
                           call.value("Div", {number(127), most}), number(0)});
  const std::string rounded = call.value("Round", {call.value("Mul", {x, steps})});
  Ints whole(rank - 1, 0);
  whole.push_back(blocks * block);
  const std::string out =
      reshaped(call, call.value("Mul", {rounded, call.value("Div", {most, number(127)})}), whole);
  if (k == blocks * block) return out;
  return call.value("Slice", {out, call.ints({0}), call.ints({k}), call.ints({-1})});
}

Status round_rows(Call& call) {
  call.add("Identity", {rounded_rows(call, call.attrs().i("block"))}, call.outputs());
  return {};
}

Status matmul_blocks(Call& call) {
  const Matrix m = matrix_of(call, 1, call.input_type(0).shape.back().extent());
  const bool is_rounded = call.attrs().i("row_bits", 0) != 0;
  const std::string x = is_rounded ? rounded_rows(call, m.block) : call.input(0);
  const std::string matrix = call.value("Transpose", {transposed_matrix(call, m)});
  add_attribute(call.last(), "perm", Ints{1, 0});
  call.add("MatMul", {x, matrix}, call.outputs());
  return {};
}

Status matmul_widened(Call& call) {
  std::string weight = call.cast(call.input(1), DType::kF32);
  if (call.attrs().b("trans_b", false)) {
    weight = call.value("Transpose", {weight});
    add_attribute(call.last(), "perm", Ints{1, 0});
  }
  call.add("MatMul", {call.input(0), weight}, call.outputs());
  return {};
}

constexpr Row kBlocksRows[] = {
    {"dequantize_blocks", "DequantizeLinear", 0, dequantize_blocks},
    {"matmul_blocks", "MatMul", 0, matmul_blocks},
    {"matmul_widened", "MatMul", 0, matmul_widened},
    {"round_rows", "Round", 0, round_rows},
};

}  // namespace

std::span<const Row> blocks_rows() { return kBlocksRows; }

}  // namespace byoc::onnx_export
