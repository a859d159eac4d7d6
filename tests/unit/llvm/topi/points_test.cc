// SPDX-License-Identifier: Apache-2.0
// Random points of the knob spaces of functions of all kinds: each gives the results of the
// reference kernels, and the first guess is the schedule without a point.
#include <gmock/gmock.h>

#include <random>
#include <set>

#include "byoc/te/target.h"
#include "byoc/text/text.h"
#include "plugins/llvm/knobs.h"
#include "plugins/llvm/lower.h"
#include "support/evaluate.h"
#include "unit/llvm/run_loops.h"

namespace byoc {
namespace {

using llvm_plugin::FunctionSpace;
using llvm_plugin::topi::Point;
using ::testing::HasSubstr;

struct Case {
  const char *name, *kind, *cpu, *text;
};

std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }

constexpr const char* kV3 = "x86-64-v3";
constexpr const char* kV4 = "x86-64-v4";

const Case kCases[] = {
    {"Conv3x3", "conv2d_computes", kV3, R"(
fn main(%x: f32[1,4,7,11,8], %w: f32[5,4,3,3,8,8], %b: f32[1,5,1,1,8]) {
  %0 = conv2d_nchwc(%x, %w) {pads=[1,1,1,1]}
  %1 = add(%0, %b)
  %2 = relu(%1)
  return %2
})"},
    {"Conv3x3WideBlocks", "conv2d_computes", kV4, R"(
fn main(%x: f32[2,3,6,13,16], %w: f32[4,3,3,3,16,16]) {
  %0 = conv2d_nchwc(%x, %w) {pads=[1,1,1,1]}
  return %0
})"},
    {"Conv3x3Strides", "conv2d_computes", kV3, R"(
fn main(%x: f32[1,3,9,10,8], %w: f32[2,3,3,3,8,8]) {
  %0 = conv2d_nchwc(%x, %w) {strides=[2,2], pads=[1,1,1,1]}
  return %0
})"},
    {"Conv1x1", "conv2d_nchwc", kV3, R"(
fn main(%x: f32[1,6,7,9,8], %w: f32[7,6,1,1,8,8], %y: f32[1,7,7,9,8]) {
  %0 = conv2d_nchwc(%x, %w)
  %1 = add(%0, %y)
  return %1
})"},
    {"Conv1x1Strides", "conv2d_nchwc", kV4, R"(
fn main(%x: f32[1,4,9,7,16], %w: f32[3,4,1,1,16,16]) {
  %0 = conv2d_nchwc(%x, %w) {strides=[2,2]}
  return %0
})"},
    {"ConvOfOnePixel", "conv2d_nchwc", kV3, R"(
fn main(%x: f32[1,2,1,1,8], %w: f32[1,2,1,1,8,8]) {
  %0 = conv2d_nchwc(%x, %w)
  return %0
})"},
    {"Depthwise3x3", "depthwise", kV3, R"(
fn main(%x: f32[1,6,7,13,8], %w: f32[6,1,3,3,1,8]) {
  %0 = conv2d_nchwc(%x, %w) {pads=[1,1,1,1], group=48}
  %1 = relu(%0)
  return %1
})"},
    {"Depthwise5x5Strides", "depthwise", kV4, R"(
fn main(%x: f32[1,2,12,11,16], %w: f32[2,1,5,5,1,16]) {
  %0 = conv2d_nchwc(%x, %w) {strides=[2,2], pads=[2,2,2,2], group=32}
  return %0
})"},
    {"Stem", "stem", kV3, R"(
fn main(%x: f32[1,3,15,14], %w: f32[6,3,3,3,1,8], %b: f32[1,6,1,1,8]) {
  %0 = conv2d_nchwc(%x, %w) {strides=[2,2], pads=[1,1,1,1]}
  %1 = add(%0, %b)
  return %1
})"},
    {"Stem7x7", "conv2d_computes", kV4, R"(
fn main(%x: f32[1,3,17,19], %w: f32[4,3,7,7,1,16]) {
  %0 = conv2d_nchwc(%x, %w) {strides=[2,2], pads=[3,3,3,3]}
  return %0
})"},
    {"MaxPool", "pool", kV3, R"(
fn main(%x: f32[1,4,13,17,8]) {
  %0 = max_pool(%x) {kernel_shape=[3,3,1], strides=[2,2,1], pads=[1,1,0,1,1,0]}
  return %0
})"},
    {"AveragePool", "pool", kV4, R"(
fn main(%x: f32[1,2,8,7,16]) {
  %0 = average_pool(%x) {kernel_shape=[2,2,1], strides=[1,1,1]}
  return %0
})"},
    {"MatmulPacked17", "matmul_packed", kV4, R"(
fn main(%a: f32[17,48], %b: f32[5,48,32], %c: f32[160]) {
  %0 = matmul_packed(%a, %b)
  %1 = add(%0, %c)
  return %1
})"},
    {"MatmulPacked128", "matmul_packed", kV3, R"(
fn main(%a: f32[128,64], %b: f32[6,64,16]) {
  %0 = matmul_packed(%a, %b)
  %1 = relu(%0)
  return %1
})"},
    {"MatmulPackedTokensFirst", "matmul_packed", kV4, R"(
fn main(%a: f32[2,19,1,24], %b: f32[3,24,32], %c: f32[96]) {
  %0 = matmul_packed(%a, %b)
  %1 = add(%0, %c)
  return %1
})"},
    {"MatmulPackedPrimes", "matmul_packed", kV3, R"(
fn main(%a: f32[13,19], %b: f32[7,19,8]) {
  %0 = matmul_packed(%a, %b)
  return %0
})"},
    {"MatmulPackedManyRows", "matmul_computes", kV4, R"(
fn main(%a: f32[96,256], %b: f32[8,256,32], %c: f32[256]) {
  %0 = matmul_packed(%a, %b)
  %1 = add(%0, %c)
  return %1
})"},
    {"MatmulPackedRow", "matmul_packed_row", kV3, R"(
fn main(%a: f32[1,37], %b: f32[6,37,16]) {
  %0 = matmul_packed(%a, %b)
  return %0
})"},
    {"Matmul", "matmul", kV3, R"(
fn main(%a: f32[17,29], %b: f32[29,83], %c: f32[83]) {
  %0 = matmul(%a, %b)
  %1 = add(%0, %c)
  return %1
})"},
    {"MatmulBatch", "matmul", kV4, R"(
fn main(%a: f32[2,3,11,16], %b: f32[2,3,16,50]) {
  %0 = matmul(%a, %b)
  return %0
})"},
    {"MatmulNarrow", "reduction", kV3, R"(
fn main(%a: f32[2,11,23], %b: f32[2,23,5]) {
  %0 = matmul(%a, %b)
  return %0
})"},
    {"Gemm", "matmul", kV3, R"(
fn main(%a: f32[9,31], %b: f32[31,40]) {
  %0 = gemm(%a, %b) {alpha=0.5}
  return %0
})"},
    {"GemmTransposed", "matmul_packed", kV3, R"(
fn main(%a: f32[9,31], %b: f32[40,31]) {
  %0 = gemm(%a, %b) {trans_b=true}
  return %0
})"},
    {"PlainConv1x1", "conv2d", kV3, R"(
fn main(%x: f32[1,13,7,9], %w: f32[11,13,1,1]) {
  %0 = conv2d(%x, %w)
  %1 = relu(%0)
  return %1
})"},
    {"PlainConv3x3", "conv2d", kV4, R"(
fn main(%x: f32[1,5,9,20], %w: f32[6,5,3,3]) {
  %0 = conv2d(%x, %w) {pads=[1,1,1,1]}
  return %0
})"},
    {"Softmax", "reduction", kV3, R"(
fn main(%x: f32[5,259]) {
  %0 = softmax(%x) {axis=-1}
  return %0
})"},
    {"LayerNorm", "reduction", kV4, R"(
fn main(%x: f32[3,521], %s: f32[521]) {
  %0 = layer_norm(%x) {axis=-1}
  %1 = multiply(%0, %s)
  return %1
})"},
    {"Mean", "reduction", kV3, R"(
fn main(%x: f32[1,7,5,70]) {
  %0 = mean(%x) {axes=[2,3], keepdims=true}
  return %0
})"},
    {"ArgMax", "arg", kV3, R"(
fn main(%x: f32[7,131]) {
  %0 = add(%x, %x)
  %1 = argmax(%0) {axis=1}
  return %1
})"},
    {"ElementwiseBroadcast", "elementwise", kV3, R"(
fn main(%x: f32[1,7,13,31], %b: f32[7,1,1], %c: f32[1,7,13,31]) {
  %0 = add(%x, %b)
  %1 = multiply(%0, %c)
  %2 = sigmoid(%1)
  return %2
})"},
    {"ElementwiseDiamond", "elementwise", kV4, R"(
fn main(%x: f32[17,400]) {
  %0 = multiply(%x, %x)
  %1 = add(%0, %x)
  %2 = multiply(%0, %1)
  %3 = relu(%1)
  %4 = add(%2, %3)
  return %4, %3
})"},
    {"ElementwiseReversed", "elementwise", kV3, R"(
fn main(%x: f32[37,41], %y: f32[41,37]) {
  %0 = add(%x, %x)
  %1 = transpose(%0) {perm=[1,0]}
  %2 = multiply(%1, %y)
  return %2
})"},
};

class Points : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    auto module = parse_module(GetParam().text, all_ops());
    ASSERT_TRUE(module.ok()) << module.status().to_string();
    module_ = *std::move(module);
    target_ = *te::parse_target(GetParam().cpu);
    auto space = llvm_plugin::space_of(module_, target_);
    ASSERT_TRUE(space.ok()) << space.status().to_string();
    ASSERT_TRUE(space->has_value());
    space_ = **std::move(space);
  }
  std::string loops_without_point() const {
    auto lowered = llvm_plugin::lower_function(module_, target_, llvm_plugin::SplitWhen::kTooLarge);
    EXPECT_TRUE(lowered.ok()) << lowered.status().to_string();
    return te::print(lowered->kernels.at(0));
  }
  // Expects the results of the reference kernels.
  void expect_results(const te::LoopFunction& loops) const {
    auto inputs = testing::random_inputs(module_, 1);
    auto expected = testing::evaluate(module_, inputs);
    ASSERT_TRUE(expected.ok()) << expected.status().to_string();
    std::vector<test::Data> in;
    for (const testing::Values& input : inputs)
      in.push_back({input.type.dtype, testing::to_bytes(input)});
    const auto out = test::run_loops(loops, in);
    ASSERT_EQ(out.size(), expected->size());
    for (size_t k = 0; k < out.size(); ++k) {
      const testing::Values& right = (*expected)[k];
      testing::expect_near(testing::from_bytes(right.type, out[k].bytes.data()), right, 1e-5);
    }
  }

  IRModule module_;
  te::Target target_;
  FunctionSpace space_;
};

TEST_P(Points, FirstGuessIsTheScheduleWithoutPoint) {
  auto loops = llvm_plugin::loops_at(module_, target_, space_.choices.guesses.at(0));
  ASSERT_TRUE(loops.ok()) << loops.status().to_string();
  EXPECT_EQ(te::print(*loops), loops_without_point());
}

TEST_P(Points, GiveTheSameResults) {
  std::minstd_rand random(5);
  std::vector<Point> points = space_.choices.guesses;
  for (int k = 0; k < 30; ++k) {
    Point& point = points.emplace_back();
    for (const auto& knob : space_.choices.knobs)
      point[knob.name] = knob.values[random() % knob.values.size()];
  }
  std::set<std::string> done;
  for (const Point& point : points) {
    std::string text;
    for (const auto& [name, value] : point) text += cat(name, "=", value, " ");
    SCOPED_TRACE(text);
    auto loops = llvm_plugin::loops_at(module_, target_, point);
    ASSERT_TRUE(loops.ok()) << loops.status().to_string();
    if (done.insert(te::print(*loops)).second) expect_results(*loops);
    if (HasFailure()) return;
  }
  EXPECT_GT(done.size(), 1u) << "all points are one schedule";
}

TEST_P(Points, SpaceHasItsKindAndUsefulSize) {
  EXPECT_EQ(space_.kind, GetParam().kind);
  const double size = llvm_plugin::topi::size_of(space_.choices);
  EXPECT_GE(size, 2) << "no choice";
  EXPECT_GT(space_.flops, 0);
  EXPECT_GT(space_.bytes, 0);
  for (const auto& knob : space_.choices.knobs) {
    const std::set<std::string> values(knob.values.begin(), knob.values.end());
    EXPECT_EQ(values.size(), knob.values.size()) << knob.name << " has a value twice";
    EXPECT_LE(values.size(), 48u) << knob.name;
  }
  const std::set<Point> guesses(space_.choices.guesses.begin(), space_.choices.guesses.end());
  EXPECT_EQ(guesses.size(), space_.choices.guesses.size()) << "a guess twice";
  for (const Point& guess : guesses)
    EXPECT_TRUE(llvm_plugin::topi::check_point(space_.choices, guess).ok());
}

TEST_P(Points, OutsideOfTheSpaceAreRefused) {
  const auto& knob = space_.choices.knobs[0];
  Point point = space_.choices.guesses[0];
  point[knob.name] = "seven";
  Status wrong_value = llvm_plugin::loops_at(module_, target_, point).status();
  EXPECT_EQ(wrong_value.code(), Code::kInvalidArgument);
  EXPECT_THAT(wrong_value.message(), HasSubstr(cat("knob \"", knob.name, "\" is \"seven\"")));
  EXPECT_THAT(wrong_value.message(), HasSubstr(knob.values[0]));
  point.erase(knob.name);
  Status without = llvm_plugin::loops_at(module_, target_, point).status();
  EXPECT_EQ(without.code(), Code::kInvalidArgument);
  EXPECT_THAT(without.message(), HasSubstr(cat("no value for knob \"", knob.name, "\"")));
  point = space_.choices.guesses[0];
  point["other"] = "1";
  EXPECT_THAT(llvm_plugin::loops_at(module_, target_, point).status().message(),
              HasSubstr("the point has knob \"other\""));
}

INSTANTIATE_TEST_SUITE_P(All, Points, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

IRModule parsed(std::string_view text) {
  auto module = parse_module(text, all_ops());
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  return *std::move(module);
}

TEST(PointSpaces, OfEqualFunctionsHaveOneTask) {
  const te::Target target = *te::parse_target(kV3);
  auto a = llvm_plugin::space_of(parsed(R"(
fn main(%x: f32[4,64]) {
  %0 = softmax(%x) {axis=-1} loc("first")
  return %0
})"),
                                 target);
  auto b = llvm_plugin::space_of(parsed(R"(
fn other(%input: f32[4,64]) {
  %0 = softmax(%input) {axis=-1}
  return %0
})"),
                                 target);
  ASSERT_TRUE(a.ok() && *a && b.ok() && *b);
  EXPECT_EQ((*a)->task, (*b)->task);
}

// The usual compute of such a convolution is "pointwise"; its task is that of the direct one.
TEST(PointSpaces, HaveTheTaskOfTheDirectComputeAndCountItsWork) {
  const te::Target target = *te::parse_target(kV3);
  auto space = llvm_plugin::space_of(parsed(R"(
fn main(%x: f32[1,2,5,7,8], %w: f32[3,2,1,1,8,8]) {
  %0 = conv2d_nchwc(%x, %w)
  return %0
})"),
                                     target);
  ASSERT_TRUE(space.ok() && *space);
  EXPECT_THAT((*space)->task, HasSubstr("direct"));
  EXPECT_THAT((*space)->task, ::testing::Not(HasSubstr("pointwise")));
  EXPECT_EQ((*space)->flops, 2.0 * 3 * 8 * 5 * 7 * 16);
  EXPECT_EQ((*space)->bytes, 4.0 * (16 * 35 + 24 * 16 + 24 * 35));
  const auto& knobs = (*space)->choices.knobs;
  auto compute = std::find_if(knobs.begin(), knobs.end(),
                              [](const auto& knob) { return knob.name == "compute"; });
  ASSERT_NE(compute, knobs.end());
  EXPECT_THAT(compute->values, ::testing::ElementsAre("direct", "pointwise"));
}

TEST(PointSpaces, AreNotThereForFunctionsOfSeveralKernels) {
  std::string text = "fn main(%x: f32[64]) {\n";
  for (int k = 0; k < 400; ++k)
    text += cat("  %", k, " = tanh(", k == 0 ? std::string("%x") : cat("%", k - 1), ")\n");
  const IRModule module = parsed(text + "  return %399\n}");
  const te::Target target = *te::parse_target(kV3);
  auto space = llvm_plugin::space_of(module, target);
  ASSERT_TRUE(space.ok()) << space.status().to_string();
  EXPECT_FALSE(space->has_value());
  Status status = llvm_plugin::loops_at(module, target, {{"vectors", "1"}}).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("several kernels"));
}

}  // namespace
}  // namespace byoc
