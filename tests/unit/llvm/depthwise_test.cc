// Convolutions of every channel with itself: sums against those written out here, for images whose
// edges, tiles and parts of tiles fall in every way; and what the loops around the taps consist of.
#include <gmock/gmock.h>

#include <random>
#include <regex>
#include <sstream>

#include "plugins/llvm/topi/depthwise.h"
#include "run_loops.h"

namespace byoc {
namespace {

using te::Expr;
using te::Exprs;
using te::Tensor;

struct Shape {
  int64_t c, h, w, kernel, stride, pad, dilation = 1;
  int64_t reach() const { return (kernel - 1) * dilation + 1; }
  int64_t oh() const { return (h + 2 * pad - reach()) / stride + 1; }
  int64_t ow() const { return (w + 2 * pad - reach()) / stride + 1; }
};

Expr zero() { return te::constant(DType::kF32, 0); }

// conv(x, w) + bias, channels in blocks of 8; `with_bias` false: the sums alone.
te::Dag depthwise(const Shape& s, bool with_bias) {
  te::Builder builder;
  Tensor x = builder.placeholder("x", DType::kF32, {1, s.c / 8, s.h, s.w, 8});
  Tensor w = builder.placeholder("w", DType::kF32, {s.c / 8, 1, s.kernel, s.kernel, 1, 8});
  Tensor bias = builder.placeholder("bias", DType::kF32, {s.c / 8, 8});
  builder.begin_op("conv2d_nchwc", "direct", 3);
  Tensor from =
      builder.compute("pad", {1, s.c / 8, s.h + 2 * s.pad, s.w + 2 * s.pad, 8}, [&](auto& at) {
        Expr row = at[2] - s.pad, column = at[3] - s.pad;
        return select(Expr(0) <= row && row < s.h && Expr(0) <= column && column < s.w,
                      x(at[0], at[1], row, column, at[4]), zero());
      });
  Exprs shape = {1, s.c / 8, s.oh(), s.ow(), 8};
  Tensor y = builder.reduce("conv", shape, {1, s.kernel, s.kernel, 1}, te::sum_of(DType::kF32),
                            [&](const Exprs& at, const Exprs& r) {
                              return from(at[0], at[1], at[2] * s.stride + r[1] * s.dilation,
                                          at[3] * s.stride + r[2] * s.dilation, at[4]) *
                                     w(at[1], r[0], r[1], r[2], r[3], at[4]);
                            });
  if (!with_bias) return builder.finish("depthwise", {x, w, bias}, {y});
  builder.begin_op("add", "direct", 4);
  Tensor out =
      builder.compute("add", shape, [&](const Exprs& at) { return y(at) + bias(at[1], at[4]); });
  return builder.finish("depthwise", {x, w, bias}, {out});
}

std::vector<float> small_integers(int64_t n, uint32_t seed) {
  std::minstd_rand random(seed);
  std::vector<float> out(static_cast<size_t>(n));
  for (float& x : out) x = static_cast<float>(static_cast<int>(random() % 7) - 3);
  return out;
}

// The same sums, one after the other: exact, since all numbers are small integers.
std::vector<float> expected(const Shape& s, const std::vector<float>& x,
                            const std::vector<float>& w, const std::vector<float>& bias) {
  std::vector<float> out;
  for (int64_t c = 0; c < s.c; c += 8) {
    for (int64_t cell = 0; cell < s.oh() * s.ow() * 8; ++cell) {
      const int64_t oh = cell / 8 / s.ow(), ow = cell / 8 % s.ow(), lane = cell % 8;
      float sum = bias.empty() ? 0 : bias[static_cast<size_t>(c + lane)];
      for (int64_t tap = 0; tap < s.kernel * s.kernel; ++tap) {
        const int64_t h = oh * s.stride + tap / s.kernel * s.dilation - s.pad;
        const int64_t column = ow * s.stride + tap % s.kernel * s.dilation - s.pad;
        if (h < 0 || h >= s.h || column < 0 || column >= s.w) continue;
        sum += x[static_cast<size_t>((c * s.h + h * 8) * s.w + column * 8 + lane)] *
               w[static_cast<size_t>((c / 8 * s.kernel * s.kernel + tap) * 8 + lane)];
      }
      out.push_back(sum);
    }
  }
  return out;
}

te::LoopFunction scheduled(const te::Dag& dag) {
  auto schedule = llvm_plugin::topi::depthwise_schedules(llvm_plugin::host_target())(dag);
  EXPECT_TRUE(schedule.has_value());
  EXPECT_TRUE(schedule->ok()) << schedule->status().message();
  auto loops = te::lower(**schedule);
  EXPECT_TRUE(loops.ok()) << loops.status().message();
  return *std::move(loops);
}

TEST(Depthwise, ComputesTheSums) {
  const Shape shapes[] = {{16, 12, 30, 3, 1, 1},   {8, 7, 7, 3, 1, 1},   {160, 9, 17, 3, 2, 1},
                          {24, 5, 6, 5, 1, 2},     {8, 14, 25, 5, 2, 2}, {8, 1, 1, 3, 1, 1},
                          {8, 2, 40, 5, 1, 2},     {16, 8, 9, 3, 1, 0},  {8, 11, 13, 7, 1, 3},
                          {8, 20, 20, 3, 1, 2, 2}, {8, 9, 9, 3, 3, 1},   {8, 3, 3, 3, 1, 2}};
  for (const Shape& s : shapes) {
    for (bool with_bias : {true, false}) {
      SCOPED_TRACE(cat(s.kernel, "x", s.kernel, " / ", s.stride, " of ", s.h, "x", s.w));
      auto x = small_integers(s.c * s.h * s.w, 1);
      auto w = small_integers(s.c * s.kernel * s.kernel, 2), bias = small_integers(s.c, 3);
      for (uint32_t threads : {1u, 3u}) {
        auto y = test::run_loops(scheduled(depthwise(s, with_bias)),
                                 {test::f32(x), test::f32(w), test::f32(bias)}, {threads, {}});
        EXPECT_EQ(y[0].as<float>(), expected(s, x, w, with_bias ? bias : std::vector<float>()));
      }
    }
  }
}

TEST(Depthwise, IsForNoOtherConvolution) {
  te::Builder builder;
  Tensor x = builder.placeholder("x", DType::kF32, {1, 1, 9, 9, 8});
  Tensor w = builder.placeholder("w", DType::kF32, {1, 1, 3, 3, 8, 8});
  builder.begin_op("conv2d_nchwc", "direct", 2);
  Tensor y = builder.reduce("conv", {1, 1, 7, 7, 8}, {1, 3, 3, 8}, te::sum_of(DType::kF32),
                            [&](const Exprs& at, const Exprs& r) {
                              return x(0, 0, at[2] + r[1], at[3] + r[2], r[3]) *
                                     w(0, 0, r[1], r[2], r[3], at[4]);
                            });
  auto provider = llvm_plugin::topi::depthwise_schedules(llvm_plugin::host_target());
  EXPECT_FALSE(provider(builder.finish("conv", {x, w}, {y})).has_value());
}

// From a label to the jump back to it, without another label or jump in between.
std::vector<std::string> innermost_loops(const std::string& assembly) {
  std::vector<std::string> out;
  std::istringstream text(assembly);
  std::string label, body;
  std::smatch match;
  for (std::string line; std::getline(text, line);) {
    if (std::regex_search(line, match, std::regex(R"(^(\.L\w+):)"))) {
      label = match[1], body.clear();
    } else if (std::regex_search(line, match, std::regex(R"(^\s+j\w+\s+(\.L\w+))"))) {
      if (match[1] == label) out.push_back(body);
      label.clear();
    } else {
      body += line + "\n";
    }
  }
  return out;
}

size_t count(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  return static_cast<size_t>(
      std::distance(std::sregex_iterator(text.begin(), text.end(), regex), {}));
}

TEST(Depthwise, KeepsSumsAndWeightsInRegistersAndConditionsOutside) {
  te::Target target = llvm_plugin::host_target();
  target.cpu = "x86-64-v3";
  target.features = {"avx", "avx2", "fma"};
  auto machine = llvm_plugin::machine_of(target);
  ASSERT_TRUE(machine.ok());
  auto listed =
      llvm_plugin::list_kernel(scheduled(depthwise({64, 56, 56, 3, 1, 1}, true)), *machine, {});
  ASSERT_TRUE(listed.ok()) << listed.status().message();
  size_t in_the_midst = 0;
  for (const std::string& loop : innermost_loops(listed->assembly)) {
    if (count(loop, "vfmadd.*ymm") == 0) continue;
    EXPECT_EQ(count(loop, "%rsp|%rbp"), 0u) << loop;
    const bool has_conditions = count(loop, "cmov|set[a-z]|vxorps") > 0;
    in_the_midst += !has_conditions && count(loop, "vfmadd.*ymm") == 24;  // 3 taps of 8 cells
  }
  EXPECT_GE(in_the_midst, 1u) << listed->assembly;
}

}  // namespace
}  // namespace byoc
