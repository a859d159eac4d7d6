// SPDX-License-Identifier: Apache-2.0
// Bits of dtypes other than f32 through ops that choose or move elements, whatever oneDNN computes
// them in. The expected bits are those of the operands, by the operators' definitions.
#include <gtest/gtest.h>

#include <cstring>

#include "programs.h"
#include "support/paths.h"

namespace byoc::test {
namespace {

template <class T>
Tensor tensor_of(DType dtype, const std::vector<int64_t>& dims, const std::vector<T>& values) {
  Tensor out = *Tensor::make({dtype, dims});
  EXPECT_EQ(out.size_bytes(), values.size() * sizeof(T));
  std::memcpy(out.data(), values.data(), out.size_bytes());
  return out;
}

template <class T>
std::vector<T> values_of(const Tensor& tensor) {
  std::vector<T> out(tensor.size_bytes() / sizeof(T));
  std::memcpy(out.data(), tensor.data(), tensor.size_bytes());
  return out;
}

/// Runs the program by each plugin, json after it, on one operand.
template <class T>
void expect_bits(const std::string& text, DType dtype, const std::vector<int64_t>& dims,
                 const std::vector<T>& x, const std::vector<T>& wanted) {
  SCOPED_TRACE(text);
  auto plugins = built_plugins();
  for (const char* plugin : {"onednn", "llvm", "json"}) {
    if (plugins->find(plugin) == nullptr) continue;  // built where LLVM is installed
    for (int level : {0, 2}) {
      SCOPED_TRACE(cat(plugin, " -O", level));
      Executable executable = built_by(plugins, parse(text), {plugin, "json"}, level);
      std::vector<Tensor> inputs;
      inputs.push_back(tensor_of(dtype, dims, x));
      EXPECT_EQ(values_of<T>(execute(executable, plugins, inputs)[0]), wanted);
    }
  }
}

// 2^24 + 1 is no f32.
TEST(OtherDtypes, IntegersOf32BitsKeepAllOfThem) {
  const std::vector<int32_t> x = {16777217, -800507067, 0, 2147483647, -16777217, 5};
  expect_bits<int32_t>("fn main(%x: i32[6]) { %0 = maximum(%x, %x) return %0 }", DType::kI32, {6},
                       x, x);
  expect_bits<int32_t>(
      "fn main(%x: i32[6]) { %c = const([1073741825]) : i32[1] %0 = minimum(%x, %c) return %0 }",
      DType::kI32, {6}, x, {16777217, -800507067, 0, 1073741825, -16777217, 5});
  expect_bits<int32_t>("fn main(%x: i32[6]) { %0 = relu(%x) return %0 }", DType::kI32, {6}, x,
                       {16777217, 0, 0, 2147483647, 0, 5});
  expect_bits<int32_t>(
      "fn main(%x: i32[1,1,2,3]) { %0 = max_pool(%x) {kernel_shape=[1,2]} return %0 }", DType::kI32,
      {1, 1, 2, 3}, x, {16777217, 0, 2147483647, 5});
}

constexpr uint16_t kNaNBits = 0x7fc0, kOne = 0x3f80, kTwo = 0x4000, kMinusOne = 0xbf80;  // of bf16

TEST(OtherDtypes, NanOfBf16WinsAgainstNumbers) {
  const std::vector<uint16_t> x = {kNaNBits, kOne, kMinusOne, kTwo};
  const std::string head = "fn main(%x: bf16[4]) { %c = const([1.0]) : bf16[1] %0 = ";
  expect_bits<uint16_t>(head + "maximum(%x, %c) return %0 }", DType::kBF16, {4}, x,
                        {kNaNBits, kOne, kOne, kTwo});
  expect_bits<uint16_t>(head + "minimum(%c, %x) return %0 }", DType::kBF16, {4}, x,
                        {kNaNBits, kOne, kMinusOne, kOne});
  expect_bits<uint16_t>(head + "relu(%x) return %0 }", DType::kBF16, {4}, x,
                        {kNaNBits, kOne, 0, kTwo});
  expect_bits<uint16_t>(head + "clip(%x) {max=1.0, min=-1.0} return %0 }", DType::kBF16, {4}, x,
                        {kNaNBits, kOne, kMinusOne, kOne});
  expect_bits<uint16_t>(
      "fn main(%x: bf16[1,1,4]) { %0 = max_pool(%x) {kernel_shape=[2]} return %0 }", DType::kBF16,
      {1, 1, 4}, x, {kNaNBits, kOne, kTwo});
  expect_bits<uint16_t>("fn main(%x: bf16[2,2]) { %0 = max(%x) {axes=[1]} return %0 }",
                        DType::kBF16, {2, 2}, x, {kNaNBits, kTwo});
}

// The operands are 2^-133, 127 * 2^-133, 2^-126, 1 and NaN. log 2^-133 is -92.2, and bf16 has
// halves there.
TEST(OtherDtypes, LogarithmsOfDenormalBf16AreNotThoseOfNormals) {
  expect_bits<uint16_t>("fn main(%x: bf16[5]) { %0 = log(%x) return %0 }", DType::kBF16, {5},
                        {0x0001, 0x007f, 0x0080, kOne, kNaNBits},
                        {0xc2b8, 0xc2af, 0xc2af, 0, kNaNBits});
}

TEST(OtherDtypes, ZerosOfF16KeepTheirSignWhenMoved) {
  constexpr uint16_t kZero = 0, kMinusZero = 0x8000, kF16One = 0x3c00, kF16Two = 0xc000;
  const std::vector<uint16_t> x = {kMinusZero, kF16One, kZero, kF16Two, kMinusZero, kZero};
  expect_bits<uint16_t>("fn main(%x: f16[2,3]) { %0 = transpose(%x) {perm=[1,0]} return %0 }",
                        DType::kF16, {2, 3}, x,
                        {kMinusZero, kF16Two, kF16One, kMinusZero, kZero, kZero});
  expect_bits<uint16_t>("fn main(%x: f16[2,3]) { %0 = concat(%x, %x) {axis=1} return %0 }",
                        DType::kF16, {2, 3}, x,
                        {kMinusZero, kF16One, kZero, kMinusZero, kF16One, kZero, kF16Two,
                         kMinusZero, kZero, kF16Two, kMinusZero, kZero});
}

TEST(OtherDtypes, NegativeOfZeroIsMinusZero) {
  expect_bits<float>("fn main(%x: f32[4]) { %0 = negative(%x) %1 = reciprocal(%0) return %1 }",
                     DType::kF32, {4}, {0.0f, -0.0f, 2.0f, -0.5f},
                     {-1 / 0.0f, 1 / 0.0f, -0.5f, 2.0f});
}

}  // namespace
}  // namespace byoc::test
