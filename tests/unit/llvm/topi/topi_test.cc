// SPDX-License-Identifier: Apache-2.0
// Tiled anchors: convolutions and matrix products with the ops fused after them, compared with
// plain loops in this file. The instructions of the innermost loops are checked, too.
#include <random>

#include "plugins/llvm/families/family.h"
#include "plugins/llvm/tiling/tile.h"
#include "unit/llvm/conv.h"
#include "unit/llvm/run_loops.h"

namespace byoc {
namespace {

using te::Expr;
using te::Exprs;
using te::Tensor;

using test::Conv;

// Returns relu(conv(x, w) + bias) with channels in blocks of 8.
te::Dag conv_bias_relu(const Conv& conv) {
  te::Builder builder;
  const int64_t i = conv.is_depthwise ? 1 : 8, c = conv.is_depthwise ? 1 : conv.c / 8;
  Tensor x = builder.placeholder("x", DType::kF32, {1, conv.c / 8, conv.h, conv.w, 8});
  Tensor w = builder.placeholder("w", DType::kF32, {conv.o / 8, c, conv.kernel, conv.kernel, i, 8});
  Tensor bias = builder.placeholder("bias", DType::kF32, {1, conv.o / 8, 1, 1, 8});
  builder.begin_op("conv2d_nchwc", "direct", 3);
  Tensor from = x;
  if (conv.pad > 0) {
    from = builder.compute(
        "pad", {1, conv.c / 8, conv.h + 2 * conv.pad, conv.w + 2 * conv.pad, 8},
        [&](const Exprs& at) {
          Expr row = at[2] - conv.pad, column = at[3] - conv.pad;
          return select(Expr(0) <= row && row < conv.h && Expr(0) <= column && column < conv.w,
                        x(at[0], at[1], row, column, at[4]), te::constant(DType::kF32, 0));
        });
  }
  Exprs shape = {1, conv.o / 8, conv.oh(), conv.ow(), 8};
  Tensor y = builder.reduce("conv", shape, {c, conv.kernel, conv.kernel, i},
                            te::sum_of(DType::kF32), [&](const Exprs& at, const Exprs& r) {
                              Expr block = conv.is_depthwise ? at[1] : r[0];
                              Expr inner = conv.is_depthwise ? at[4] : r[3];
                              return from(at[0], block, at[2] * conv.stride + r[1],
                                          at[3] * conv.stride + r[2], inner) *
                                     w(at[1], r[0], r[1], r[2], r[3], at[4]);
                            });
  builder.begin_op("add", "direct", 4);
  Tensor sum = builder.compute(
      "add", shape, [&](const Exprs& at) { return y(at) + bias(0, at[1], 0, 0, at[4]); });
  builder.begin_op("relu", "direct", 5);
  Tensor out = builder.compute(
      "relu", shape, [&](const Exprs& at) { return max(sum(at), te::constant(DType::kF32, 0)); });
  return builder.finish("conv_bias_relu", {x, w, bias}, {out});
}

std::vector<float> small_integers(size_t n, uint32_t seed) {
  std::minstd_rand random(seed);
  std::vector<float> out(n);
  for (float& x : out) x = static_cast<float>(static_cast<int>(random() % 7) - 3);
  return out;
}

// Computes the same sums with plain loops. All numbers are small integers, so results are exact.
std::vector<float> expected(const Conv& conv, const std::vector<float>& x,
                            const std::vector<float>& w, const std::vector<float>& bias) {
  std::vector<float> out;
  const int64_t per = conv.is_depthwise ? 1 : conv.c, i_block = conv.is_depthwise ? 1 : 8;
  for (int64_t o_block = 0; o_block < conv.o / 8; ++o_block)
    for (int64_t oh = 0; oh < conv.oh(); ++oh)
      for (int64_t ow = 0; ow < conv.ow(); ++ow)
        for (int64_t o = 0; o < 8; ++o) {
          float sum = bias[static_cast<size_t>(o_block * 8 + o)];
          for (int64_t k = 0; k < per; ++k)
            for (int64_t kh = 0; kh < conv.kernel; ++kh)
              for (int64_t kw = 0; kw < conv.kernel; ++kw) {
                const int64_t h = oh * conv.stride + kh - conv.pad;
                const int64_t column = ow * conv.stride + kw - conv.pad;
                if (h < 0 || h >= conv.h || column < 0 || column >= conv.w) continue;
                const int64_t c = conv.is_depthwise ? o_block * 8 + o : k;
                const int64_t at_x = ((c / 8 * conv.h + h) * conv.w + column) * 8 + c % 8;
                const int64_t at_w =
                    ((((o_block * (per / i_block) + k / i_block) * conv.kernel + kh) * conv.kernel +
                      kw) *
                         i_block +
                     k % i_block) *
                        8 +
                    o;
                sum += x[static_cast<size_t>(at_x)] * w[static_cast<size_t>(at_w)];
              }
          out.push_back(std::max(sum, 0.0f));
        }
  return out;
}

std::optional<Result<te::Schedule>> first_schedule(const te::Dag& dag, const te::Target& target) {
  namespace topi = llvm_plugin::topi;
  return topi::first_schedules(llvm_plugin::family_template, target)(dag);
}

te::LoopFunction in_tiles(const te::Dag& dag) {
  auto schedule = first_schedule(dag, llvm_plugin::host_target());
  EXPECT_TRUE(schedule.has_value());
  EXPECT_TRUE(schedule->ok()) << schedule->status().message();
  auto loops = te::lower(**schedule);
  EXPECT_TRUE(loops.ok()) << loops.status().message();
  return *std::move(loops);
}

TEST(TiledConv, ComputesTheSums) {
  const Conv cases[] = {{64, 64, 12, 12, 3, 1, 1},       {16, 24, 9, 7, 3, 2, 1},
                        {8, 40, 5, 29, 1, 1, 0},         {32, 16, 7, 7, 5, 1, 2},
                        {8, 8, 1, 1, 1, 1, 0},           {512, 64, 5, 7, 3, 1, 1},
                        {16, 16, 10, 11, 3, 1, 1, true}, {24, 24, 9, 9, 5, 2, 2, true}};
  for (const Conv& conv : cases) {
    SCOPED_TRACE(cat(conv.c, " to ", conv.o, " channels, ", conv.h, "x", conv.w));
    const size_t per = static_cast<size_t>(conv.is_depthwise ? 1 : conv.c);
    auto x = small_integers(static_cast<size_t>(conv.c * conv.h * conv.w), 1);
    auto w = small_integers(static_cast<size_t>(conv.o * conv.kernel * conv.kernel) * per, 2);
    auto bias = small_integers(static_cast<size_t>(conv.o), 3);
    auto y = test::run_loops(in_tiles(conv_bias_relu(conv)),
                             {test::f32(x), test::f32(w), test::f32(bias)});
    EXPECT_EQ(y[0].as<float>(), expected(conv, x, w, bias));
  }
}

// Returns a random tile, in random panels. The chunks of the reduction divide
// the blocks of channels.
llvm_plugin::topi::Tiling random_tiling(const Conv& conv, bool is_pointwise,
                                        std::minstd_rand& random) {
  auto up_to = [&](int64_t most) { return 1 + static_cast<int64_t>(random() % most); };
  const size_t column = is_pointwise ? 2 : 3;
  const int64_t blocks = conv.o / 8, cells = is_pointwise ? conv.oh() * conv.ow() : conv.ow();
  llvm_plugin::topi::Tiling out;
  out.unrolled = {{column, up_to(std::min<int64_t>(cells, 5))},
                  {1, up_to(std::min<int64_t>(blocks, 3))}};
  if (random() % 2) std::swap(out.unrolled[0], out.unrolled[1]);
  out.vectorized = {column + 1, 8};
  if (random() % 2) out.unrolled_reduce = {column == 2 ? 1u : 3u};
  auto part = [&](int64_t extent) { return random() % 3 == 0 ? int64_t{0} : up_to(extent); };
  out.panel = {{1, part(blocks)}, {2, part(is_pointwise ? cells : conv.oh())}};
  if (!is_pointwise) out.panel.push_back({3, part(cells)});
  if (random() % 2) std::swap(out.panel[0], out.panel[1]);
  out.panel.push_back({column + 1, 0});
  const int64_t chunk = up_to(conv.c / 8);
  if (chunk < conv.c / 8 && conv.c / 8 % chunk == 0) out.chunk = {0, chunk};
  return out;
}

TEST(TiledConv, ComputesTheSumsInAnyPanelsAndChunks) {
  namespace topi = llvm_plugin::topi;
  std::minstd_rand random(7);
  const Conv cases[] = {{32, 40, 7, 9, 3, 1, 1},
                        {48, 24, 9, 8, 3, 2, 1},
                        {48, 40, 5, 7, 1, 1, 0},
                        {32, 56, 9, 8, 1, 2, 0}};
  int chunked = 0;
  for (int round = 0; round < 10; ++round) {
    for (const Conv& conv : cases) {
      const te::Dag dag = test::translated(conv, llvm_plugin::host_target());
      const topi::Tiling tiling = random_tiling(conv, conv.kernel == 1, random);
      auto schedule = topi::tile_anchor(dag, *topi::find_anchor_stage(dag), tiling);
      ASSERT_TRUE(schedule.ok()) << schedule.status().message();
      SCOPED_TRACE(te::print(schedule->trace()));
      chunked += tiling.chunk.factor > 0;
      auto x = small_integers(static_cast<size_t>(conv.c * conv.h * conv.w), 1);
      auto w = small_integers(static_cast<size_t>(conv.o * conv.kernel * conv.kernel * conv.c), 2);
      auto bias = small_integers(static_cast<size_t>(conv.o), 3);
      auto y = test::run_loops(*te::lower(*schedule), {test::f32(x), test::f32(w), test::f32(bias)},
                               {.threads = static_cast<uint32_t>(1 + random() % 3)});
      EXPECT_EQ(y[0].as<float>(), expected(conv, x, w, bias));
    }
  }
  EXPECT_GT(chunked, 5);
}

TEST(PointwiseConv, ComputesTheSums) {
  const Conv cases[] = {{64, 256, 9, 9, 1, 1, 0}, {16, 24, 9, 7, 1, 2, 0},
                        {8, 40, 5, 29, 1, 1, 0},  {512, 128, 14, 14, 1, 1, 0},
                        {8, 8, 1, 1, 1, 1, 0},    {24, 8, 7, 1, 1, 1, 0},
                        {16, 16, 1, 12, 1, 3, 0}, {2048, 16, 7, 7, 1, 1, 0}};
  for (const Conv& conv : cases) {
    SCOPED_TRACE(cat(conv.c, " to ", conv.o, " channels, ", conv.h, "x", conv.w));
    te::Dag dag = test::translated(conv, llvm_plugin::host_target());
    EXPECT_EQ(dag.stages[te::stage_of(dag, dag.outputs[0]) - 2].compute, "pointwise");
    auto x = small_integers(static_cast<size_t>(conv.c * conv.h * conv.w), 1);
    auto w = small_integers(static_cast<size_t>(conv.o * conv.c), 2);
    auto bias = small_integers(static_cast<size_t>(conv.o), 3);
    auto y = test::run_loops(in_tiles(dag), {test::f32(x), test::f32(w), test::f32(bias)});
    EXPECT_EQ(y[0].as<float>(), expected(conv, x, w, bias));
  }
}

// The targets have vectors of 4, 8 and 16 lanes. All code is compiled for this machine.
TEST(TiledConv, HasTilesForEveryTarget) {
  for (const char* cpu : {"x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"}) {
    const te::Target target = *te::parse_target(cpu);
    for (const Conv& conv : {Conv{32, 40, 7, 9, 3, 1, 1}, Conv{48, 56, 5, 7, 1, 1, 0}}) {
      SCOPED_TRACE(cat(cpu, ", ", conv.kernel, "x", conv.kernel));
      auto schedule = first_schedule(test::translated(conv, target), target);
      ASSERT_TRUE(schedule && schedule->ok());
      auto x = small_integers(static_cast<size_t>(conv.c * conv.h * conv.w), 1);
      auto w = small_integers(static_cast<size_t>(conv.o * conv.kernel * conv.kernel * conv.c), 2);
      auto bias = small_integers(static_cast<size_t>(conv.o), 3);
      auto y =
          test::run_loops(*te::lower(**schedule), {test::f32(x), test::f32(w), test::f32(bias)});
      EXPECT_EQ(y[0].as<float>(), expected(conv, x, w, bias));
    }
  }
}

TEST(PointwiseConv, HasSchedulesOfItsOwn) {
  const Conv conv = {16, 16, 6, 6, 1, 1, 0};
  const te::Target target = llvm_plugin::host_target();
  auto schedule = first_schedule(test::translated(conv, target), target);
  ASSERT_TRUE(schedule && schedule->ok());
  te::Dag direct = conv_bias_relu(conv);
  for (te::Stage& stage : direct.stages) {
    if (stage.name == "conv") stage.name = "conv2d_nchwc.sums";
  }
  Status status = te::replay(std::move(direct), (*schedule)->trace()).status();
  EXPECT_EQ(status.message(),
            "for_compute(conv2d_nchwc.sums, pointwise): the compute chosen for conv2d_nchwc is "
            "direct");
}

TEST(PointwiseConv, IsForOnePixelEach) {
  const Conv padded = {8, 8, 5, 5, 1, 1, 1}, wide = {8, 8, 5, 5, 3, 1, 0};
  for (const Conv& conv : {padded, wide}) {
    for (const te::Stage& stage : test::translated(conv, llvm_plugin::host_target()).stages)
      EXPECT_NE(stage.compute, "pointwise");
  }
}

// Returns a b + bias, with b in blocks of 16 columns.
te::Dag matmul_bias(int64_t m, int64_t n, int64_t k) {
  te::Builder builder;
  Tensor a = builder.placeholder("a", DType::kF32, {m, k});
  Tensor b = builder.placeholder("b", DType::kF32, {n / 16, k, 16});
  Tensor bias = builder.placeholder("bias", DType::kF32, {n});
  builder.begin_op("matmul_packed", "direct", 3);
  Tensor y = builder.reduce(
      "matmul", {m, n}, {k}, te::sum_of(DType::kF32), [&](const Exprs& at, const Exprs& r) {
        return a(at[0], r[0]) * b(te::floor_div(at[1], 16), r[0], te::floor_mod(at[1], 16));
      });
  builder.begin_op("add", "direct", 4);
  Tensor out = builder.compute("add", {m, n}, [&](const Exprs& at) { return y(at) + bias(at[1]); });
  return builder.finish("matmul_bias", {a, b, bias}, {out});
}

TEST(TiledMatmul, ComputesTheSums) {
  for (auto [m, n, k] : {std::tuple{13, 48, 17}, {1, 32, 64}, {128, 16, 1536}, {300, 32, 2304}}) {
    SCOPED_TRACE(cat(m, " x ", n, " x ", k));
    auto a = small_integers(static_cast<size_t>(m * k), 1);
    auto b = small_integers(static_cast<size_t>(k * n), 2);
    auto bias = small_integers(static_cast<size_t>(n), 3);
    auto y = test::run_loops(in_tiles(matmul_bias(m, n, k)),
                             {test::f32(a), test::f32(b), test::f32(bias)})[0];
    std::vector<float> expected;
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        float sum = bias[static_cast<size_t>(j)];
        for (int64_t r = 0; r < k; ++r)
          sum += a[static_cast<size_t>(i * k + r)] *
                 b[static_cast<size_t>((j / 16 * k + r) * 16 + j % 16)];
        expected.push_back(sum);
      }
    }
    EXPECT_EQ(y.as<float>(), expected);
  }
}

}  // namespace
}  // namespace byoc
