// SPDX-License-Identifier: Apache-2.0
// Convolutions with windows and channels in blocks of half a vector: sums have the lanes of two
// blocks. The interpreter runs the loops, because their machine code requires AVX-512. Results are
// compared with plain loops in this file.
#include <gtest/gtest.h>

#include <random>

#include "byoc/te/evaluate.h"
#include "byoc/text/builder.h"
#include "plugins/llvm/constants/kernel_loops.h"
#include "plugins/llvm/families/calls.h"
#include "plugins/llvm/native.h"
#include "plugins/llvm/tiling/tile.h"
#include "unit/llvm/assembly.h"
#include "unit/llvm/joined/joined.h"
#include "unit/llvm/small_integers.h"

namespace byoc {
namespace {

using Floats = std::vector<float>;

// x is plain, [n, c, h, w], or has blocks of 8 channels.
struct WindowConv {
  int64_t n, c, o, h, w, taps, stride, pad;
  bool is_plain = true;
  int64_t oh() const { return (h + 2 * pad - taps) / stride + 1; }
  int64_t ow() const { return (w + 2 * pad - taps) / stride + 1; }
  int64_t block() const { return is_plain ? 1 : kBlock; }
};

// Returns relu(conv(x, w) + bias), whose weight is a constant when `inputs` is 2.
te::Dag dag_of(const WindowConv& s, const te::Target& target, int64_t inputs = 2) {
  const int64_t o = s.o / kBlock, b = s.block();
  IRModule module;
  FunctionBuilder f(module, all_ops());
  Shape image = {s.n, s.c / b, s.h, s.w};
  if (!s.is_plain) image.push_back(b);
  ValueId x = f.param("x", {DType::kF32, image});
  ValueId bias = f.param("bias", {DType::kF32, {1, o, 1, 1, kBlock}});
  ValueId w = f.param("w", {DType::kF32, {o, s.c / b, s.taps, s.taps, b, kBlock}});
  ValueId y =
      f.call("conv2d_nchwc", {x, w}, {{"strides", Ints(2, s.stride)}, {"pads", Ints(4, s.pad)}});
  y = f.call("relu", {f.call("add", {y, bias})});
  EXPECT_TRUE(f.finish("main", {y}).ok());
  Function& function = module.function("main");
  function.attrs.set(llvm_plugin::kInputsAttr, inputs);
  function.attrs.set(llvm_plugin::kExactSumsAttr, true);  // no tiles of Winograd's
  auto dag =
      te::translate_to_te(module, function, target, te::by_level(), llvm_plugin::strategies());
  EXPECT_TRUE(dag.ok()) << dag.status().message();
  return *std::move(dag);
}

bool has_joined_windows(const te::Dag& dag) {
  return std::ranges::any_of(dag.stages, [](const te::Stage& stage) {
    return stage.compute == llvm_plugin::topi::kJoinedWindows;
  });
}

llvm_plugin::KernelLoops kernel_of(const WindowConv& s) {
  const te::Dag dag = dag_of(s, avx512());
  EXPECT_TRUE(has_joined_windows(dag));
  auto out = llvm_plugin::lower_with_constants(dag, 2, avx512(), nullptr);
  EXPECT_TRUE(out.ok()) << out.status().message();
  return *std::move(out);
}

// Returns one sum over channels and taps.
float sum_at(const WindowConv& s, const Floats& x, const Floats& w, int64_t n, int64_t o,
             int64_t row, int64_t column) {
  const int64_t b = s.block();
  float sum = 0;
  for (int64_t k = 0; k < s.c * s.taps * s.taps; ++k) {
    const int64_t c = k / (s.taps * s.taps), tap = k % (s.taps * s.taps);
    const int64_t h = row * s.stride + tap / s.taps - s.pad;
    const int64_t at = column * s.stride + tap % s.taps - s.pad;
    if (h < 0 || h >= s.h || at < 0 || at >= s.w) continue;
    const int64_t pixel = ((n * s.c / b + c / b) * s.h + h) * s.w + at;
    const int64_t block = (o / kBlock * (s.c / b) + c / b) * s.taps * s.taps + tap;
    sum += x[static_cast<size_t>(pixel * b + c % b)] *
           w[static_cast<size_t>((block * b + c % b) * kBlock + o % kBlock)];
  }
  return sum;
}

// Computes the same with plain loops. All numbers are small integers, so results are exact.
Floats expected(const WindowConv& s, const Floats& x, const Floats& w, const Floats& bias) {
  Floats out;
  const int64_t cells = s.oh() * s.ow();
  for (int64_t at = 0; at < s.n * s.o * cells; ++at) {
    const int64_t cell = at / kBlock % cells, n = at / s.o / cells;
    const int64_t o = at / kBlock / cells % (s.o / kBlock) * kBlock + at % kBlock;
    const float sum = sum_at(s, x, w, n, o, cell / s.ow(), cell % s.ow());
    out.push_back(std::max(sum + bias[static_cast<size_t>(o)], 0.0f));
  }
  return out;
}

void expect_sums(const WindowConv& s) {
  SCOPED_TRACE(cat(s.c, " to ", s.o, " channels, ", s.taps, "x", s.taps, " of ", s.h, "x", s.w));
  const llvm_plugin::KernelLoops kernel = kernel_of(s);
  ASSERT_TRUE(kernel.constants.has_value());
  const Floats x = small_integers(s.n * s.c * s.h * s.w, 1), bias = small_integers(s.o, 3),
               w = small_integers(s.o * s.c * s.taps * s.taps, 2);
  const Floats panels = interpreted(kernel.constants->loops, {w});
  EXPECT_EQ(panels.size(), static_cast<size_t>((s.o + 15) / 16 * 16 * s.c * s.taps * s.taps));
  EXPECT_EQ(interpreted(kernel.loops, {x, bias, panels}), expected(s, x, w, bias));
}

TEST(JoinedWindows, ComputeTheSumsOfPlainImages) {
  expect_sums({1, 3, 24, 19, 21, 3, 2, 1});
  expect_sums({2, 3, 40, 9, 8, 3, 1, 1});
  expect_sums({1, 1, 24, 12, 13, 5, 2, 2});
  expect_sums({1, 4, 56, 9, 9, 7, 2, 3});
  expect_sums({1, 3, 16, 5, 3, 3, 1, 0});
}

TEST(JoinedWindows, ComputeTheSumsOfBlocks) {
  expect_sums({1, 16, 24, 9, 10, 3, 2, 1, false});
  expect_sums({2, 24, 40, 7, 5, 5, 1, 2, false});
  expect_sums({1, 8, 72, 6, 6, 2, 2, 0, false});
}

TEST(JoinedWindows, AreForConstantsInBlocksOfHalfAVector) {
  const WindowConv s = {1, 3, 24, 19, 21, 3, 2, 1};
  EXPECT_FALSE(has_joined_windows(dag_of(s, avx512(), 3)));
  EXPECT_FALSE(has_joined_windows(dag_of({1, 3, 8, 19, 21, 3, 2, 1}, avx512())));
  EXPECT_FALSE(has_joined_windows(dag_of(s, *te::parse_target("x86-64-v3"))));
  EXPECT_FALSE(has_joined_windows(dag_of(s, *te::parse_target("aarch64"))));
}

TEST(JoinedWindows, KeepSumsInWholeVectors) {
  auto machine = llvm_plugin::machine_of(avx512());
  auto listed =
      llvm_plugin::list_kernel(kernel_of({1, 3, 24, 224, 224, 3, 2, 1}).loops, *machine, {});
  ASSERT_TRUE(listed.ok()) << listed.status().message();
  size_t wide = 0;
  for (const auto& loop : test::innermost_loops(listed->assembly)) {
    wide = std::max(wide, test::count(loop, "vfmadd.*zmm"));
    EXPECT_EQ(test::count(loop, "vfmadd.*[xy]mm"), 0u) << test::joined(loop);
  }
  EXPECT_GE(wide, 16u);
}

}  // namespace
}  // namespace byoc
