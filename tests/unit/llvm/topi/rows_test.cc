// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions and convolutions of plain images, which are computed in rows of cells.
// Results are compared with plain loops for all kinds of remainders at edges and tiles. The
// instructions of the loops over the taps are counted.
#include <gmock/gmock.h>

#include <random>
#include <regex>
#include <sstream>

#include "plugins/llvm/families/family.h"
#include "unit/llvm/run_loops.h"
#include "unit/llvm/small_integers.h"

namespace byoc {
namespace {

using te::Expr;
using te::Exprs;
using te::Tensor;

// The result has o channels, each of which reads all c channels. With o = 0 the
// convolution is depthwise.
struct RowsShape {
  int64_t c, o, h, w, kernel, stride, pad, dilation = 1;
  bool is_depthwise() const { return o == 0; }
  int64_t results() const { return is_depthwise() ? c : o; }
  int64_t reach() const { return (kernel - 1) * dilation + 1; }
  int64_t oh() const { return (h + 2 * pad - reach()) / stride + 1; }
  int64_t ow() const { return (w + 2 * pad - reach()) / stride + 1; }
};

// Returns x with zeros at its edges. Depthwise convolutions have channels in blocks of 8,
// others have plain images.
Tensor padded(te::Builder& builder, const RowsShape& s, const Tensor& x) {
  Exprs shape = x.shape();
  shape[2] = s.h + 2 * s.pad, shape[3] = s.w + 2 * s.pad;
  return builder.compute("pad", shape, [&](const Exprs& at) {
    Exprs cell = at;
    Expr row = cell[2] = at[2] - s.pad, column = cell[3] = at[3] - s.pad;
    return select(Expr(0) <= row && row < s.h && Expr(0) <= column && column < s.w, x(cell),
                  te::constant(DType::kF32, 0));
  });
}

// Returns conv(x, w) + bias, or conv(x, w) without `with_bias`.
te::Dag conv(const RowsShape& s, bool with_bias) {
  te::Builder builder;
  const int64_t c = s.is_depthwise() ? 1 : s.c;
  Exprs image = {1, s.c, s.h, s.w};
  if (s.is_depthwise()) image = {1, s.c / 8, s.h, s.w, 8};
  Tensor x = builder.placeholder("x", DType::kF32, image);
  Tensor w = builder.placeholder("w", DType::kF32, {s.results() / 8, c, s.kernel, s.kernel, 1, 8});
  Tensor bias = builder.placeholder("bias", DType::kF32, {s.results() / 8, 8});
  builder.begin_op("conv2d_nchwc", "direct", 3);
  Tensor from = padded(builder, s, x);
  Exprs shape = {1, s.results() / 8, s.oh(), s.ow(), 8};
  Tensor y = builder.reduce("conv", shape, {c, s.kernel, s.kernel, 1}, te::sum_of(DType::kF32),
                            [&](const Exprs& at, const Exprs& r) {
                              Exprs cell = {0, s.is_depthwise() ? at[1] : r[0],
                                            at[2] * s.stride + r[1] * s.dilation,
                                            at[3] * s.stride + r[2] * s.dilation};
                              if (s.is_depthwise()) cell.push_back(at[4]);
                              return from(cell) * w(at[1], r[0], r[1], r[2], r[3], at[4]);
                            });
  if (!with_bias) return builder.finish("conv", {x, w, bias}, {y});
  builder.begin_op("add", "direct", 4);
  Tensor out =
      builder.compute("add", shape, [&](const Exprs& at) { return y(at) + bias(at[1], at[4]); });
  return builder.finish("conv", {x, w, bias}, {out});
}

// Computes the same sums with plain loops. All numbers are small integers, so results are exact.
std::vector<float> expected(const RowsShape& s, const std::vector<float>& x,
                            const std::vector<float>& w, const std::vector<float>& bias) {
  std::vector<float> out;
  const int64_t taps = s.kernel * s.kernel, channels = s.is_depthwise() ? 1 : s.c;
  for (int64_t n = 0; n < s.results() * s.oh() * s.ow(); ++n) {
    const int64_t cell = n / 8 % (s.oh() * s.ow()), block = n / 8 / (s.oh() * s.ow());
    const int64_t lane = n % 8, oh = cell / s.ow(), ow = cell % s.ow();
    float sum = bias.empty() ? 0 : bias[static_cast<size_t>(block * 8 + lane)];
    for (int64_t k = 0; k < channels * taps; ++k) {
      const int64_t h = oh * s.stride + k % taps / s.kernel * s.dilation - s.pad;
      const int64_t column = ow * s.stride + k % s.kernel * s.dilation - s.pad;
      if (h < 0 || h >= s.h || column < 0 || column >= s.w) continue;
      const int64_t at_x = s.is_depthwise() ? ((block * s.h + h) * s.w + column) * 8 + lane
                                            : (k / taps * s.h + h) * s.w + column;
      sum += x[static_cast<size_t>(at_x)] *
             w[static_cast<size_t>((block * channels * taps + k) * 8 + lane)];
    }
    out.push_back(sum);
  }
  return out;
}

te::LoopFunction scheduled(const te::Dag& dag, const RowsShape& s) {
  const te::Target target = llvm_plugin::host_target();
  namespace topi = llvm_plugin::topi;
  auto* maker = s.is_depthwise() ? llvm_plugin::family_named("depthwise").schedules
                                 : llvm_plugin::family_named("stem").schedules;
  auto schedule = topi::first_schedules(maker, target)(dag);
  EXPECT_TRUE(schedule.has_value());
  EXPECT_TRUE(schedule->ok()) << schedule->status().message();
  auto loops = te::lower(**schedule);
  EXPECT_TRUE(loops.ok()) << loops.status().message();
  return *std::move(loops);
}

void expect_the_sums(const RowsShape& s) {
  SCOPED_TRACE(cat(s.kernel, "x", s.kernel, " / ", s.stride, " of ", s.c, "x", s.h, "x", s.w));
  const int64_t channels = s.is_depthwise() ? 1 : s.c;
  auto x = small_integers(s.c * s.h * s.w, 1), bias = small_integers(s.results(), 3);
  auto w = small_integers(s.results() * channels * s.kernel * s.kernel, 2);
  for (bool with_bias : {true, false}) {
    for (uint32_t threads : {1u, 3u}) {
      auto y = test::run_loops(scheduled(conv(s, with_bias), s),
                               {test::f32(x), test::f32(w), test::f32(bias)}, {threads, {}});
      EXPECT_EQ(y[0].as<float>(), expected(s, x, w, with_bias ? bias : std::vector<float>()));
    }
  }
}

TEST(Depthwise, ComputesTheSums) {
  for (const RowsShape& s : std::vector<RowsShape>{{16, 0, 12, 30, 3, 1, 1},
                                                   {8, 0, 7, 7, 3, 1, 1},
                                                   {160, 0, 9, 17, 3, 2, 1},
                                                   {24, 0, 5, 6, 5, 1, 2},
                                                   {8, 0, 14, 25, 5, 2, 2},
                                                   {8, 0, 1, 1, 3, 1, 1},
                                                   {8, 0, 2, 40, 5, 1, 2},
                                                   {16, 0, 8, 9, 3, 1, 0},
                                                   {8, 0, 11, 13, 7, 1, 3},
                                                   {8, 0, 20, 20, 3, 1, 2, 2},
                                                   {8, 0, 9, 9, 3, 3, 1},
                                                   {8, 0, 3, 3, 3, 1, 2}})
    expect_the_sums(s);
}

TEST(Stem, ComputesTheSums) {
  for (const RowsShape& s : std::vector<RowsShape>{{3, 16, 20, 22, 3, 2, 1},
                                                   {3, 32, 29, 31, 7, 2, 3},
                                                   {1, 8, 12, 40, 3, 1, 1},
                                                   {3, 24, 16, 17, 3, 1, 1},
                                                   {4, 8, 9, 9, 5, 1, 2},
                                                   {3, 48, 32, 32, 8, 8, 0},
                                                   {2, 16, 2, 3, 3, 1, 1},
                                                   {3, 16, 15, 16, 11, 4, 2}})
    expect_the_sums(s);
}

TEST(ConvsInRows, AreThoseTwoAlone) {
  te::Builder builder;
  Tensor x = builder.placeholder("x", DType::kF32, {1, 1, 9, 9, 8});
  Tensor w = builder.placeholder("w", DType::kF32, {1, 1, 3, 3, 8, 8});
  builder.begin_op("conv2d_nchwc", "direct", 2);
  Tensor y = builder.reduce("conv", {1, 1, 7, 7, 8}, {1, 3, 3, 8}, te::sum_of(DType::kF32),
                            [&](const Exprs& at, const Exprs& r) {
                              return x(0, 0, at[2] + r[1], at[3] + r[2], r[3]) *
                                     w(0, 0, r[1], r[2], r[3], at[4]);
                            });
  const te::Target target = llvm_plugin::host_target();
  const te::Dag dag = builder.finish("conv", {x, w}, {y});
  EXPECT_FALSE(llvm_plugin::family_named("depthwise").schedules(dag, target).has_value());
  EXPECT_FALSE(llvm_plugin::family_named("stem").schedules(dag, target).has_value());
}

// Returns the text from each label to the jump back to it, if no other label or jump is between.
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

// Returns the loops with multiply-adds and without conditions. Checks that no
// loop accesses the stack.
std::vector<std::string> plain_kernels(const RowsShape& s) {
  te::Target target = llvm_plugin::host_target();
  target.cpu = "x86-64-v3";
  target.features = {"avx", "avx2", "fma"};
  auto machine = llvm_plugin::machine_of(target);
  EXPECT_TRUE(machine.ok());
  auto listed = llvm_plugin::list_kernel(scheduled(conv(s, true), s), *machine, {});
  EXPECT_TRUE(listed.ok()) << listed.status().message();
  std::vector<std::string> out;
  for (const std::string& loop : innermost_loops(listed->assembly)) {
    if (count(loop, "vfmadd.*ymm") == 0) continue;
    EXPECT_EQ(count(loop, "%rsp"), 0u) << loop;
    if (count(loop, "cmov|set[a-z]|vxorps") == 0) out.push_back(loop);
  }
  return out;
}

TEST(ConvsInRows, KeepSumsAndWeightsInRegistersAndConditionsOutside) {
  const std::pair<RowsShape, size_t> kernels[] = {
      {{64, 0, 56, 56, 3, 1, 1}, 24},     // 3 taps of 8 cells
      {{96, 0, 56, 56, 3, 2, 1}, 21},     // 3 taps of 7 cells
      {{3, 32, 112, 112, 3, 2, 1}, 24},   // 3 taps of 4 cells of 2 blocks
      {{3, 64, 112, 112, 7, 2, 3}, 12}};  // a tap of 6 cells of 2 blocks
  for (const auto& [shape, multiply_adds] : kernels) {
    size_t found = 0;
    for (const std::string& loop : plain_kernels(shape))
      found += count(loop, "vfmadd.*ymm") == multiply_adds;
    EXPECT_GE(found, 1u) << shape.kernel << " " << shape.stride;
  }
}

}  // namespace
}  // namespace byoc
