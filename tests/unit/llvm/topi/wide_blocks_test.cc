// SPDX-License-Identifier: Apache-2.0
// Channels in blocks of 16 and columns in panels of 32, which are the layouts for AVX-512. The
// loops are those of the plugin's schedules. The interpreter runs them, because their machine code
// requires AVX-512, and results are compared with plain loops in this file.
#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <set>

#include "byoc/te/evaluate.h"
#include "byoc/text/builder.h"
#include "byoc/text/graph_json.h"
#include "plugins/llvm/families/family.h"
#include "plugins/llvm/lower.h"
#include "plugins/llvm/native.h"
#include "unit/llvm/assembly.h"
#include "unit/llvm/small_integers.h"

namespace byoc {
namespace {

using Floats = std::vector<float>;

// A convolution. in_block and out_block are the channels per block of image and result; in_block =
// 1 means a plain image.
struct WideConv {
  int64_t c, o, h, w, kernel, stride, pad, group, in_block, out_block;
  int64_t oh() const { return (h + 2 * pad - kernel) / stride + 1; }
  int64_t ow() const { return (w + 2 * pad - kernel) / stride + 1; }
  int64_t group_c() const { return c / group; }
  int64_t inner() const { return std::min(in_block, group_c()); }  // weight's block of inputs
};

te::Target avx512() { return *te::parse_target("x86-64-v4"); }

// Reorders [outer * block, inner] to [outer, inner, block].
Floats in_blocks(const Floats& x, int64_t inner, int64_t block) {
  Floats out;
  const auto rows = static_cast<int64_t>(x.size()) / inner;
  for (int64_t outer = 0; outer < rows; outer += block)
    for (int64_t i = 0; i < inner; ++i)
      for (int64_t lane = 0; lane < block; ++lane)
        out.push_back(x[static_cast<size_t>((outer + lane) * inner + i)]);
  return out;
}

// Reorders [o, i, taps] to [o / outer, i / inner, taps, inner, outer].
Floats weight_in_blocks(const Floats& w, const WideConv& conv) {
  const int64_t per = conv.group_c() * conv.kernel * conv.kernel;
  Floats rows;
  for (int64_t o = 0; o < conv.o; ++o) {
    const auto begin = w.begin() + o * per;
    const Floats row = in_blocks({begin, begin + per}, conv.kernel * conv.kernel, conv.inner());
    rows.insert(rows.end(), row.begin(), row.end());
  }
  return in_blocks(rows, per, conv.out_block);
}

te::LoopFunction loops_of(const IRModule& module) {
  std::string json;
  write_graph_json(module, module.function("main"), "main", json);
  auto loops = llvm_plugin::loops_of_graph(json, avx512());
  EXPECT_TRUE(loops.ok()) << loops.status().message();
  return *std::move(loops);
}

Floats interpreted(const te::LoopFunction& loops, const std::vector<Floats>& inputs) {
  size_t n = 1;
  for (const te::Expr& extent : loops.outputs[0].shape())
    n *= static_cast<size_t>(*te::as_int(extent));
  Floats y(n);
  std::vector<const void*> in;
  for (const Floats& input : inputs) in.push_back(input.data());
  void* out[] = {y.data()};
  Status status = te::evaluate(loops, in, out);
  EXPECT_TRUE(status.ok()) << status.message();
  return y;
}

// Returns the loops of relu(conv(x, w) + bias).
te::LoopFunction loops_of(const WideConv& conv) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  Ints image = {1, conv.c / conv.in_block, conv.h, conv.w, conv.in_block};
  if (conv.in_block == 1) image.pop_back();
  const Ints weight = {conv.o / conv.out_block,
                       conv.group_c() / conv.inner(),
                       conv.kernel,
                       conv.kernel,
                       conv.inner(),
                       conv.out_block};
  ValueId x = f.param("x", {DType::kF32, make_shape(image)});
  ValueId w = f.param("w", {DType::kF32, make_shape(weight)});
  ValueId bias = f.param("bias", {DType::kF32, {1, conv.o / conv.out_block, 1, 1, conv.out_block}});
  ValueId y = f.call(
      "conv2d_nchwc", {x, w},
      {{"strides", Ints(2, conv.stride)}, {"pads", Ints(4, conv.pad)}, {"group", conv.group}});
  EXPECT_TRUE(f.finish("main", {f.call("relu", {f.call("add", {y, bias})})}).ok());
  return loops_of(module);
}

// Computes the convolution with plain loops. All numbers are small integers, so results are exact.
Floats expected(const WideConv& conv, const Floats& x, const Floats& w, const Floats& bias) {
  Floats out;
  for (int64_t o = 0; o < conv.o; ++o)
    for (int64_t oh = 0; oh < conv.oh(); ++oh)
      for (int64_t ow = 0; ow < conv.ow(); ++ow) {
        float sum = bias[static_cast<size_t>(o)];
        const int64_t first = o / (conv.o / conv.group) * conv.group_c();
        for (int64_t k = 0; k < conv.group_c() * conv.kernel * conv.kernel; ++k) {
          const int64_t c = k / (conv.kernel * conv.kernel);
          const int64_t h = oh * conv.stride + k / conv.kernel % conv.kernel - conv.pad;
          const int64_t column = ow * conv.stride + k % conv.kernel - conv.pad;
          if (h < 0 || h >= conv.h || column < 0 || column >= conv.w) continue;
          const int64_t at = ((first + c) * conv.h + h) * conv.w + column;
          sum += x[static_cast<size_t>(at)] *
                 w[static_cast<size_t>(o * conv.group_c() * conv.kernel * conv.kernel + k)];
        }
        out.push_back(std::max(sum, 0.0f));
      }
  return out;
}

TEST(WideBlocks, ComputeTheSumsOfConvolutions) {
  const WideConv cases[] = {{32, 48, 5, 7, 3, 1, 1, 1, 16, 16},   // blocks of a vector
                            {16, 32, 6, 5, 3, 2, 1, 1, 16, 16},   // with strides
                            {32, 32, 5, 7, 1, 1, 0, 1, 16, 16},   // one tap
                            {32, 16, 5, 6, 1, 2, 0, 1, 16, 16},   // one tap, with strides
                            {3, 32, 9, 8, 3, 2, 1, 1, 1, 16},     // a plain image
                            {32, 32, 6, 9, 3, 1, 1, 32, 16, 16},  // a channel each
                            {24, 24, 6, 9, 3, 1, 1, 24, 8, 8},    // a channel each, half a vector
                            {32, 24, 5, 4, 3, 1, 1, 1, 16, 8},    // from blocks of 16 to 8
                            {24, 32, 5, 4, 1, 1, 0, 1, 8, 16},    // from blocks of 8 to 16
                            {64, 64, 3, 4, 3, 1, 1, 4, 16, 16}};  // groups
  for (const WideConv& conv : cases) {
    SCOPED_TRACE(cat(conv.c, " to ", conv.o, " channels, ", conv.kernel, "x", conv.kernel,
                     ", stride ", conv.stride, ", group ", conv.group));
    const Floats x = small_integers(conv.c * conv.h * conv.w, 1);
    const Floats w = small_integers(conv.o * conv.group_c() * conv.kernel * conv.kernel, 2);
    const Floats bias = small_integers(conv.o, 3);
    const Floats y = interpreted(loops_of(conv), {in_blocks(x, conv.h * conv.w, conv.in_block),
                                                  weight_in_blocks(w, conv), bias});
    EXPECT_EQ(y, in_blocks(expected(conv, x, w, bias), conv.oh() * conv.ow(), conv.out_block));
  }
}

// Max pools of 2x2 windows with stride 2, and averages of whole planes.
TEST(WideBlocks, PoolAndAverage) {
  const int64_t c = 32, h = 6, w = 14;
  const Floats x = small_integers(c * h * w, 1);
  for (int64_t block : {16, 8}) {
    IRModule module;
    FunctionBuilder f(module, all_ops());
    ValueId in = f.param("x", {DType::kF32, {1, c / block, h, w, block}});
    ValueId y =
        f.call("max_pool", {in}, {{"kernel_shape", Ints{2, 2, 1}}, {"strides", Ints{2, 2, 1}}});
    EXPECT_TRUE(f.finish("main", {y}).ok());
    Floats most;
    for (int64_t k = 0; k < c * h / 2 * w / 2; ++k) {
      const int64_t row = k / (w / 2) * 2, column = k % (w / 2) * 2;
      auto at = [&](int64_t r, int64_t s) {
        return x[static_cast<size_t>((row + r) * w + column + s)];
      };
      most.push_back(std::max({at(0, 0), at(0, 1), at(1, 0), at(1, 1)}));
    }
    EXPECT_EQ(interpreted(loops_of(module), {in_blocks(x, h * w, block)}),
              in_blocks(most, h * w / 4, block));
  }
  IRModule module;
  FunctionBuilder f(module, all_ops());
  ValueId in = f.param("x", {DType::kF32, {1, c / 16, 4, 4, 16}});
  ValueId y = f.call("mean", {in}, {{"axes", Ints{2, 3}}, {"keepdims", true}});
  EXPECT_TRUE(f.finish("main", {y}).ok());
  Floats means;
  for (int64_t k = 0; k < c; ++k)
    means.push_back(std::accumulate(x.begin() + k * 16, x.begin() + (k + 1) * 16, 0.0f) / 16);
  EXPECT_EQ(interpreted(loops_of(module), {in_blocks({x.begin(), x.begin() + c * 16}, 16, 16)}),
            means);
}

// The rows of a pool are whole or half vectors. Smaller blocks would waste registers.
TEST(WideBlocks, PoolInRowsOfAVectorOrHalfOfOne) {
  for (auto [block, is_in_rows] :
       {std::pair(16, true), std::pair(8, true), std::pair(4, false), std::pair(32, false)}) {
    IRModule module;
    FunctionBuilder f(module, all_ops());
    ValueId in = f.param("x", {DType::kF32, {1, 2, 6, 14, block}});
    ValueId y =
        f.call("max_pool", {in}, {{"kernel_shape", Ints{2, 2, 1}}, {"strides", Ints{2, 2, 1}}});
    EXPECT_TRUE(f.finish("main", {y}).ok());
    auto dag = te::translate_to_te(module, module.function("main"), avx512(), te::by_level(),
                                   llvm_plugin::strategies());
    ASSERT_TRUE(dag.ok()) << dag.status().message();
    EXPECT_EQ(llvm_plugin::family_named("pool").schedules(*dag, avx512()).has_value(), is_in_rows)
        << block;
  }
}

// Returns the loops of a b. b is transposed, [n, k]; in panels it is [n / panel, k, panel].
te::LoopFunction loops_of_product(int64_t m, int64_t n, int64_t k, int64_t panel) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  ValueId a = f.param("a", {DType::kF32, {m, k}});
  ValueId b = f.param("b", {DType::kF32, {n / panel, k, panel}});
  EXPECT_TRUE(f.finish("main", {f.call("matmul_packed", {a, b})}).ok());
  return loops_of(module);
}

TEST(WideBlocks, ComputeTheSumsOfProducts) {
  for (auto [m, n, k, panel] :
       {std::tuple{17, 64, 24, 32}, {1, 96, 40, 32}, {5, 48, 19, 16}, {15, 24, 8, 8}}) {
    SCOPED_TRACE(cat(m, " x ", n, " x ", k, " in panels of ", panel));
    const Floats a = small_integers(m * k, 1), b = small_integers(n * k, 2);
    Floats sums;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        sums.push_back(std::inner_product(a.begin() + i * k, a.begin() + (i + 1) * k,
                                          b.begin() + j * k, 0.0f));
    EXPECT_EQ(interpreted(loops_of_product(m, n, k, panel), {a, in_blocks(b, k, panel)}), sums);
  }
}

struct Code {
  size_t sums = 0;    // maximum number of registers that an innermost loop adds to
  size_t narrow = 0;  // multiply-adds on half vectors
  std::vector<std::string> spills;
};

Code code_of(const te::LoopFunction& loops) {
  auto machine = llvm_plugin::machine_of(avx512());
  auto listed = llvm_plugin::list_kernel(loops, *machine, {});
  EXPECT_TRUE(listed.ok()) << listed.status().message();
  const bool has_frame = listed->assembly.find("%rsp, %rbp") != std::string::npos;
  const std::regex fma(R"(vfmadd\S+.*(%zmm\d+)\s*$)");
  Code out;
  for (const auto& loop : test::innermost_loops(listed->assembly)) {
    if (test::count(loop, "vfmadd") == 0) continue;
    std::set<std::string> sums;
    std::smatch match;
    for (const std::string& line : loop) {
      if (std::regex_search(line, match, fma)) sums.insert(match[1]);
    }
    out.sums = std::max(out.sums, sums.size());
    out.narrow += test::count(loop, "vfmadd.*[xy]mm");
    if (test::count(loop, has_frame ? "%rsp|\\(%rbp" : "%rsp") > 0)
      out.spills.push_back(test::joined(loop));
  }
  return out;
}

TEST(WideBlocks, KeepSumsInWholeVectors) {
  const WideConv cases[] = {{64, 64, 56, 56, 3, 1, 1, 1, 16, 16},
                            {256, 256, 14, 14, 3, 1, 1, 1, 16, 16},
                            {256, 64, 56, 56, 1, 1, 0, 1, 16, 16},
                            {512, 2048, 7, 7, 1, 1, 0, 1, 16, 16}};
  for (const WideConv& conv : cases) {
    SCOPED_TRACE(cat(conv.kernel, "x", conv.kernel, " ", conv.c, " to ", conv.o));
    const Code code = code_of(loops_of(conv));
    EXPECT_GE(code.sums, 10u);
    EXPECT_EQ(code.narrow, 0u);
    EXPECT_TRUE(code.spills.empty()) << code.spills[0];
  }
  for (const WideConv& conv : {WideConv{3, 64, 112, 112, 3, 2, 1, 1, 1, 16},
                               WideConv{64, 64, 56, 56, 3, 1, 1, 64, 16, 16}}) {
    const Code code = code_of(loops_of(conv));
    EXPECT_GE(code.sums, 7u);
    EXPECT_EQ(code.narrow, 0u);
  }
  const Code product = code_of(loops_of_product(128, 768, 768, 32));
  EXPECT_GE(product.sums, 10u);
  EXPECT_EQ(product.narrow, 0u);
  EXPECT_TRUE(product.spills.empty()) << product.spills[0];
}

}  // namespace
}  // namespace byoc
