// SPDX-License-Identifier: Apache-2.0
// The estimates of onednn, llvm and json for a machine of round numbers: 100 GFLOP/s on one core.
#include <gtest/gtest.h>

#include "core/machine/machine.h"
#include "core/region/judge.h"
#include "support/flow.h"
#include "support/paths.h"

namespace byoc {
namespace {

machine::Machine machine_of_tests() {
  Result<machine::Machine> machine =
      machine::read_machine(BYOC_SOURCE_DIR "/tests/support/machine.json");
  EXPECT_TRUE(machine.ok()) << machine.status().to_string();
  return machine.ok() ? *std::move(machine) : machine::assumed_machine();
}

constexpr const char* kConvolution = R"(fn main(%x: f32[1,64,56,56], %w: f32[64,64,1,1]) {
  %0 = conv2d(%x, %w)
  return %0
})";
constexpr double kConvolutionFlops = 2.0 * 64 * 56 * 56 * 64;
constexpr const char* kMean = R"(fn main(%x: f32[1,64,56,56]) {
  %0 = mean(%x) {axes=[1]}
  return %0
})";
constexpr const char* kSoftmax = R"(fn main(%x: f32[1,64,56,56]) {
  %0 = softmax(%x) {axis=1}
  return %0
})";
constexpr const char* kRelu = R"(fn main(%x: f32[1,64,112,112]) {
  %0 = relu(%x)
  return %0
})";

/// Returns the verdict of a plugin on the last op of the text.
Verdict judged(const std::string& plugin, const char* text,
               std::shared_ptr<const byoc_machine> machine) {
  const IRModule module = test::parse(text);
  PassContext context = test::context_of(module, test::built_plugins(), {plugin});
  context.machine = std::move(machine);
  const Function& function = module.function(module.entry);
  Judge judge(module, context);
  return judge.takes(*context.plugins->find(plugin), function, UseCounts(function),
                     static_cast<uint32_t>(function.nodes.size() - 1));
}

double ns(const std::string& plugin, const char* text, const machine::Machine& machine,
          uint32_t threads = 1) {
  const Verdict verdict = judged(plugin, text, machine::view_of(machine, threads));
  EXPECT_NE(verdict.accept, Verdict::kNo) << verdict.reason;
  EXPECT_GT(verdict.est_ns, 0u);
  return static_cast<double>(verdict.est_ns);
}

std::vector<std::string> plugins() {
  std::vector<std::string> out = {"json", "onednn"};
  if (test::built_plugins()->find("llvm") != nullptr) out.push_back("llvm");
  return out;
}

TEST(Estimates, AreMadeOnlyForAMachine) {
  for (const std::string& plugin : plugins())
    EXPECT_EQ(judged(plugin, kConvolution, nullptr).est_ns, 0u) << plugin;
}

TEST(Estimates, OfAConvolutionAreItsWorkAtAShareOfThePeak) {
  for (const std::string& plugin : plugins()) {
    if (plugin == "json") continue;
    const double least = kConvolutionFlops / 100;  // at the peak of one core, ns
    const double estimate = ns(plugin, kConvolution, machine_of_tests());
    EXPECT_GT(estimate, least) << plugin;
    EXPECT_LT(estimate, 2.5 * least) << plugin;
  }
}

TEST(Estimates, FollowTheMachine) {
  machine::Machine twice = machine_of_tests();
  for (machine::Rate* rate : {&twice.f32, &twice.i8}) rate->one *= 2, rate->all *= 2;
  for (machine::Level& level : twice.levels) level.read.one *= 2, level.read.all *= 2;
  for (const std::string& plugin : plugins()) {
    for (const char* text : {kConvolution, kRelu}) {
      const double slow = ns(plugin, text, machine_of_tests()), fast = ns(plugin, text, twice);
      EXPECT_NEAR(slow / fast, 2, 0.05) << plugin;
    }
  }
}

TEST(Estimates, OfSeveralThreadsAreLess) {
  for (const std::string& plugin : plugins()) {
    const double one = ns(plugin, kConvolution, machine_of_tests(), 1);
    const double four = ns(plugin, kConvolution, machine_of_tests(), 4);
    EXPECT_LT(four, one / 3) << plugin;
    EXPECT_GT(four, one / 4.01) << plugin << ": a loop has to be started";
  }
}

TEST(Estimates, OfReferenceKernelsAreAsLongAsTheyTake) {
  const machine::Machine machine = machine_of_tests();
  for (const char* text : {kMean, kSoftmax}) {
    const Verdict verdict = judged("onednn", text, machine::view_of(machine, 1));
    EXPECT_EQ(verdict.accept, Verdict::kSlow) << verdict.reason;
    const double elements = 64 * 56 * 56;
    EXPECT_GT(static_cast<double>(verdict.est_ns), 5 * elements)
        << "faster than 2e8 steps a second";
  }
}

// Blocks of channels are computed whole: of one channel as of eight or sixteen.
TEST(Estimates, OfOnednnCountTheChannelsThatFillBlocks) {
  auto deconv = [](int64_t channels) {
    return cat("fn main(%x: f32[1,16,128,128], %w: f32[16,", channels,
               ",2,2]) {\n%0 = conv2d_transpose(%x, %w) {strides=[2,2]}\nreturn %0\n}");
  };
  const machine::Machine machine = machine_of_tests();
  EXPECT_GT(ns("onednn", deconv(1).c_str(), machine),
            0.4 * ns("onednn", deconv(8).c_str(), machine));
}

// Rows of whole pages are in the same sets of a cache, which keeps few of them. A transpose reads
// an element of each, and tiles of sixteen need no line twice. Of others onednn has the time beyond
// that of a view, of which the host has the cost: 48 operations an element.
TEST(Estimates, OfOnednnCountLinesOfRowsInTheSameSets) {
  const machine::Machine machine = machine_of_tests();
  auto turned = [&](int64_t rows, int64_t columns) {
    const std::string text = cat("fn main(%x: f32[", rows, ",", columns,
                                 "]) {\n%0 = transpose(%x) {perm=[1,0]}\nreturn %0\n}");
    const auto view = machine::view_of(machine, 1);
    return static_cast<double>(judged("onednn", text.c_str(), view).est_ns);
  };
  const double line_ns = 64 / 30.0;  // of the third cache, which alone keeps 1000 rows
  const double usual_ns = 48 / 100.0;
  EXPECT_NEAR(turned(1000, 1024), 1000 * 1024 * (line_ns + usual_ns), 1000);
  EXPECT_NEAR(turned(100, 1024), 100 * 1024 * (64 / 80.0 + usual_ns), 1000);  // of the second one
  for (auto [rows, columns] : {std::pair(1008, 1024), {1000, 1040}, {7, 1024}})
    EXPECT_NEAR(turned(rows, columns), rows * columns * usual_ns, 1) << rows << " by " << columns;
}

TEST(Estimates, OfAMatrixAndAVector) {
  if (test::built_plugins()->find("llvm") == nullptr) GTEST_SKIP() << "llvm is not built";
  const machine::Machine machine = machine_of_tests();
  const char* const text =
      "fn main(%a: f32[1000,1024], %b: f32[1024]) {\n%0 = matmul(%a, %b)\nreturn %0\n}";
  EXPECT_LT(ns("llvm", text, machine), ns("onednn", text, machine));
}

TEST(Estimates, OfTheReferencePluginAreTheLongest) {
  const machine::Machine machine = machine_of_tests();
  for (const std::string& plugin : plugins()) {
    if (plugin == "json") continue;
    for (const char* text : {kConvolution, kRelu})
      EXPECT_GT(ns("json", text, machine), 5 * ns(plugin, text, machine)) << plugin;
  }
}

TEST(Estimates, OfLlvmHaveNoReferenceKernels) {
  if (test::built_plugins()->find("llvm") == nullptr) GTEST_SKIP() << "llvm is not built";
  const machine::Machine machine = machine_of_tests();
  for (const char* text : {kMean, kSoftmax})
    EXPECT_LT(20 * ns("llvm", text, machine), ns("onednn", text, machine));
}

std::string transposed(const char* x, const char* weight, const char* attrs) {
  return cat("fn main(%x: f32", x, ", %w: f32", weight, ") {\n  %0 = conv2d_transpose(%x, %w) {",
             attrs, "}\n  return %0\n}");
}

// oneDNN computes whole blocks of channels, however few there are, and a group of one
// channel slowly.
TEST(Estimates, OfTransposedConvolutionsOfFewChannelsAreLongerByOnednn) {
  if (test::built_plugins()->find("llvm") == nullptr) GTEST_SKIP() << "llvm is not built";
  const machine::Machine machine = machine_of_tests();
  const std::string four = "strides=[2,2], pads=[1,1,1,1]";
  for (const auto& [text, factor] :
       {std::pair(transposed("[1,64,32,32]", "[64,3,4,4]", four.c_str()), 2),
        std::pair(transposed("[1,1,128,128]", "[1,1,4,4]", four.c_str()), 3),
        std::pair(
            transposed("[1,21,32,32]", "[21,1,16,16]", "strides=[8,8], pads=[4,4,4,4], group=21"),
            3),
        std::pair(transposed("[1,64,40,40]", "[64,32,4,4]", four.c_str()), 1)}) {
    EXPECT_GT(ns("onednn", text.c_str(), machine), factor * ns("llvm", text.c_str(), machine))
        << text;
  }
}

}  // namespace
}  // namespace byoc
