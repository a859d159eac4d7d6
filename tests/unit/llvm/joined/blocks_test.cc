// SPDX-License-Identifier: Apache-2.0
// 1x1 convolutions with channels in blocks of half a vector: sums have the lanes of two blocks, and
// the weights are joined at compile. The interpreter runs the loops, because their machine code
// requires AVX-512. Results are compared with plain loops in this file.
#include <gtest/gtest.h>

#include <random>

#include "byoc/te/evaluate.h"
#include "byoc/text/builder.h"
#include "plugins/llvm/constants/kernel_loops.h"
#include "plugins/llvm/families/calls.h"
#include "plugins/llvm/native.h"
#include "plugins/llvm/sketch/sketch_template.h"
#include "plugins/llvm/tiling/tile.h"
#include "unit/llvm/assembly.h"
#include "unit/llvm/joined/joined.h"
#include "unit/llvm/small_integers.h"

namespace byoc {
namespace {

using Floats = std::vector<float>;

struct BlockConv {
  int64_t n, c, o, h, w, stride = 1;
  int64_t oh() const { return (h - 1) / stride + 1; }
  int64_t ow() const { return (w - 1) / stride + 1; }
};

// Returns relu(conv(x, w) + bias) + rest, whose weight is a constant when `inputs` is 3.
te::Dag dag_of(const BlockConv& s, const te::Target& target, int64_t inputs = 3) {
  const int64_t o = s.o / kBlock, c = s.c / kBlock;
  IRModule module;
  FunctionBuilder f(module, all_ops());
  ValueId x = f.param("x", {DType::kF32, {s.n, c, s.h, s.w, kBlock}});
  ValueId bias = f.param("bias", {DType::kF32, {1, o, 1, 1, kBlock}});
  ValueId rest = f.param("rest", {DType::kF32, {s.n, o, s.oh(), s.ow(), kBlock}});
  ValueId w = f.param("w", {DType::kF32, {o, c, 1, 1, kBlock, kBlock}});
  ValueId y = f.call("conv2d_nchwc", {x, w}, {{"strides", Ints(2, s.stride)}});
  y = f.call("add", {f.call("relu", {f.call("add", {y, bias})}), rest});
  EXPECT_TRUE(f.finish("main", {y}).ok());
  Function& function = module.function("main");
  function.attrs.set(llvm_plugin::kInputsAttr, inputs);
  auto dag =
      te::translate_to_te(module, function, target, te::by_level(), llvm_plugin::strategies());
  EXPECT_TRUE(dag.ok()) << dag.status().message();
  return *std::move(dag);
}

bool is_joined(const te::Dag& dag) {
  return std::ranges::any_of(dag.stages, [](const te::Stage& stage) {
    return stage.compute == llvm_plugin::topi::kJoinedCompute;
  });
}

llvm_plugin::KernelLoops kernel_of(const te::Dag& dag,
                                   const llvm_plugin::topi::Point* point = nullptr) {
  auto out = llvm_plugin::lower_with_constants(dag, 3, avx512(), point);
  EXPECT_TRUE(out.ok()) << out.status().message();
  return *std::move(out);
}

// Computes the same with plain loops. All numbers are small integers, so results are exact.
Floats expected(const BlockConv& s, const Floats& x, const Floats& w, const Floats& bias,
                const Floats& rest) {
  Floats out;
  const int64_t cells = s.oh() * s.ow();
  for (int64_t at = 0; at < s.n * s.o * cells; ++at) {
    const int64_t lane = at % kBlock, cell = at / kBlock % cells;
    const int64_t block = at / kBlock / cells % (s.o / kBlock), n = at / s.o / cells;
    const int64_t pixel = cell / s.ow() * s.stride * s.w + cell % s.ow() * s.stride;
    float sum = bias[static_cast<size_t>(block * kBlock + lane)];
    for (int64_t c = 0; c < s.c; ++c) {
      const int64_t from = (n * s.c / kBlock + c / kBlock) * s.h * s.w + pixel;
      const int64_t weight = (block * s.c + c) * kBlock + lane;
      sum += x[static_cast<size_t>(from * kBlock + c % kBlock)] * w[static_cast<size_t>(weight)];
    }
    out.push_back(std::max(sum, 0.0f) + rest[static_cast<size_t>(at)]);
  }
  return out;
}

void expect_sums(const BlockConv& s, const llvm_plugin::KernelLoops& kernel) {
  const Floats x = small_integers(s.n * s.c * s.h * s.w, 1), w = small_integers(s.o * s.c, 2),
               bias = small_integers(s.o, 3), rest = small_integers(s.n * s.o * s.oh() * s.ow(), 4);
  ASSERT_TRUE(kernel.constants.has_value());
  EXPECT_EQ(kernel.constants->is_kept, std::vector<bool>{false});
  const Floats panels = interpreted(kernel.constants->loops, {w});
  EXPECT_EQ(panels.size(), static_cast<size_t>((s.o + 15) / 16 * 16 * s.c));
  EXPECT_EQ(interpreted(kernel.loops, {x, bias, rest, panels}), expected(s, x, w, bias, rest));
}

TEST(JoinedBlocks, ComputeTheSums) {
  for (const BlockConv& s : {BlockConv{1, 16, 24, 5, 7},
                             {2, 8, 40, 3, 3},
                             {1, 24, 16, 1, 1},
                             {1, 40, 120, 2, 9},
                             {1, 8, 56, 9, 8, 2},
                             {3, 16, 24, 7, 5, 3},
                             {1, 1024, 24, 7, 7}}) {
    SCOPED_TRACE(cat(s.n, " images, ", s.c, " to ", s.o, " channels, ", s.h, "x", s.w));
    const te::Dag dag = dag_of(s, avx512());
    EXPECT_TRUE(is_joined(dag));
    expect_sums(s, kernel_of(dag));
  }
}

TEST(JoinedBlocks, ComputeTheSumsInPanelsAndChunks) {
  const BlockConv s = {1, 64, 72, 3, 5};
  const te::Dag dag = dag_of(s, avx512());
  size_t chunked = 0;
  for (const char* tile : {"5x3", "4x1", "1x4", "7x2"}) {
    for (const char* panels : {"1", "2", "3"}) {
      for (const char* chunks : {"1", "2", "4"}) {
        llvm_plugin::topi::Point point = llvm_plugin::sketch::template_of(dag, avx512()).first;
        point["tile"] = tile, point["o_panels"] = point["unit_panels"] = panels;
        point["chunks"] = chunks;
        SCOPED_TRACE(cat("tile ", tile, ", ", panels, " panels, ", chunks, " chunks"));
        const llvm_plugin::KernelLoops kernel = kernel_of(dag, &point);
        chunked += te::print(kernel.loops).find("workspace") != std::string::npos;
        expect_sums(s, kernel);
      }
    }
  }
  EXPECT_GT(chunked, 5u);
}

TEST(JoinedBlocks, AreForConstantsInBlocksOfHalfAVector) {
  const BlockConv s = {1, 16, 24, 5, 7};
  EXPECT_FALSE(is_joined(dag_of(s, avx512(), 4)));
  EXPECT_FALSE(is_joined(dag_of({1, 16, 8, 5, 7}, avx512())));
  EXPECT_FALSE(is_joined(dag_of(s, *te::parse_target("x86-64-v3"))));
  EXPECT_FALSE(is_joined(dag_of(s, *te::parse_target("aarch64"))));
}

TEST(JoinedBlocks, KeepSumsInWholeVectors) {
  for (const BlockConv& s :
       {BlockConv{1, 144, 24, 56, 56}, {1, 24, 72, 56, 56}, {1, 120, 40, 28, 28}}) {
    SCOPED_TRACE(cat(s.c, " to ", s.o, " channels"));
    auto machine = llvm_plugin::machine_of(avx512());
    auto listed = llvm_plugin::list_kernel(kernel_of(dag_of(s, avx512())).loops, *machine, {});
    ASSERT_TRUE(listed.ok()) << listed.status().message();
    size_t wide = 0;
    for (const auto& loop : test::innermost_loops(listed->assembly)) {
      wide = std::max(wide, test::count(loop, "vfmadd.*zmm"));
      EXPECT_EQ(test::count(loop, "vfmadd.*[xy]mm"), 0u) << test::joined(loop);
    }
    EXPECT_GE(wide, 16u);
  }
}

}  // namespace
}  // namespace byoc
