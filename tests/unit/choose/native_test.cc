// SPDX-License-Identifier: Apache-2.0
// Policies choose among the computes of the llvm plugin in whole builds.
#include <random>

#include "byoc/tune/history.h"
#include "byoc/tune/task.h"
#include "choose.h"

namespace byoc::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// One tap, whose usual compute is "pointwise".
constexpr std::string_view kPointwise = R"(fn main(%x: f32[1,16,6,7], %w: f32[24,16,1,1]) {
  %0 = conv2d(%x, %w) loc("c")
  %1 = relu(%0)
  return %1
})";

class NativeComputes : public ::testing::Test {
 protected:
  void SetUp() override {
    if (built_plugins()->find("llvm") == nullptr) GTEST_SKIP() << "llvm is not built";
  }
  static BuildOptions options(const std::vector<std::string>& rules, int level = 2) {
    BuildOptions out = options_for(built_plugins(), {"llvm"});
    out.level = level;
    if (!rules.empty()) out.policies = handed_in(*te::parse_rules(rules, all_ops()));
    return out;
  }
};

TEST_F(NativeComputes, RulesChooseAndResultsAgree) {
  const IRModule module = parse(kPointwise);
  for (int level : {1, 2}) {  // plain images, and images in blocks of channels
    EXPECT_THAT(built_kernels(module, options({"by-level"}, level)),
                Contains(HasSubstr("llvm: pointwise")));
    for (const char* rule : {"direct", "conv2d=direct", "c=direct", "only-generic"}) {
      EXPECT_THAT(built_kernels(module, options({rule}, level)),
                  Contains(HasSubstr("llvm: direct")))
          << rule << level;
    }
    expect_like_reference(module, options({"direct"}, level));
    expect_like_reference(module, options({"by-cost"}, level));
  }
}

TEST_F(NativeComputes, ARecordWinsOverTheLevelAndARuleOverTheRecord) {
  const IRModule module = parse(kPointwise);
  BuildOptions with_log = options({}, 1);
  auto tasks = tune::extract_tasks(module, with_log);
  ASSERT_TRUE(tasks.ok()) << tasks.status().to_string();
  ASSERT_THAT(*tasks, SizeIs(1));
  const tune::Task& task = tasks->at(0);
  tune::Record record;
  record.plugin = task.plugin, record.task = task.space.task, record.kind = task.space.kind;
  record.key = task.key, record.target = *tune::record_target("{}");
  for (const tune::Point& guess : task.space.guesses) {
    if (guess.at("compute") == "direct" && record.point.empty()) record.point = guess;
  }
  ASSERT_FALSE(record.point.empty());
  record.samples_ns = {100};
  with_log.history = tune::History::of({record});
  tune::HistoryReport report;
  with_log.history_report = &report;
  auto kernels = [&](const std::vector<std::string>& rules) {
    with_log.policies = rules.empty() ? nullptr : handed_in(*te::parse_rules(rules, all_ops()));
    expect_like_reference(module, with_log);
    return built_kernels(module, with_log);
  };
  EXPECT_THAT(kernels({"by-level"}), ElementsAre("llvm llvm_main_0: llvm: direct"));
  ASSERT_THAT(report.entries(), SizeIs(1));
  EXPECT_EQ(report.entries()[0].choice.point, record.point);
  EXPECT_THAT(kernels({"pointwise"}), ElementsAre("llvm llvm_main_0: llvm: pointwise"));
  EXPECT_EQ(report.entries()[0].choice.origin, tune::Origin::kMiss);
}

TEST_F(NativeComputes, AnotherComputeIsOtherCodeAndTheUsualOneIsTheSame) {
  const IRModule module = parse(kPointwise);
  auto made = [&](const std::vector<std::string>& rules) {
    Result<Executable> executable = build(module, options(rules, 1));
    EXPECT_TRUE(executable.ok()) << executable.status().to_string();
    ExternalModule out = executable->modules.at(0);
    out.functions.at(0).implementation.clear();  // names the compute
    return out;
  };
  const ExternalModule plain = made({});
  EXPECT_EQ(made({"pointwise"}), plain);
  EXPECT_NE(made({"direct"}), plain);
}

// A convolution of three taps with constant weights, which has the most computes.
IRModule three_taps() {
  std::mt19937 random(22);
  std::string weights;
  for (int k = 0; k < 16 * 16 * 9; ++k)
    weights += cat(k ? "," : "", static_cast<double>(random() % 64) / 32 - 1);
  return parse(cat("fn main(%x: f32[1,16,9,10]) {\n %w = const([", weights,
                   "]) : f32[16,16,3,3]\n %0 = conv2d(%x, %w) {pads=[1,1,1,1]} loc(\"c\")\n"
                   " return %0\n}"));
}

TEST_F(NativeComputes, EveryComputeOfAFunctionCanBeChosen) {
  const IRModule module = three_taps();
  auto tasks = tune::extract_tasks(module, options({}));
  ASSERT_TRUE(tasks.ok()) << tasks.status().to_string();
  const tune::Space* space = nullptr;
  for (const tune::Task& task : *tasks) {
    if (task.space.kind.starts_with("conv2d")) space = &task.space;
  }
  ASSERT_NE(space, nullptr);
  std::vector<std::string> computes = {"direct"};
  for (const tune::Knob& knob : space->knobs) {
    if (knob.name == "compute") computes = knob.values;
  }
  for (const std::string& compute : computes) {
    const BuildOptions chosen = options({cat("c=", compute)});
    EXPECT_THAT(built_kernels(module, chosen), Contains(HasSubstr(cat("llvm: ", compute))));
    expect_like_reference(module, chosen);
  }
  if (!space->cost_ns.contains("compute")) return;
  const std::map<std::string, double>& costs = space->cost_ns.at("compute");
  auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
  const std::string cheapest = std::ranges::min_element(costs, less)->first;
  EXPECT_THAT(built_kernels(module, options({"by-cost"})),
              Contains(HasSubstr(cat("llvm: ", cheapest))));
}

// Each compute of generated convolutions gives the results of the reference.
TEST_F(NativeComputes, GeneratedConvolutionsAgreeWithTheReference) {
  std::mt19937 random(21);
  auto pick = [&](std::initializer_list<int64_t> from) {
    return from.begin()[random() % from.size()];
  };
  for (int round = 0; round < 6; ++round) {
    const int64_t n = pick({0, 1, 2}), c = pick({1, 8, 16, 19}), h = pick({1, 4, 7}),
                  w = pick({1, 5, 14}), o = pick({1, 8, 16, 33}), k = pick({1, 1, 3}),
                  stride = k == 1 ? pick({1, 2}) : 1, pad = k / 2;
    const IRModule module =
        parse(cat("fn main(%x: f32[", n, ",", c, ",", h, ",", w, "], %w: f32[", o, ",", c, ",", k,
                  ",", k, "]) {\n %0 = conv2d(%x, %w) {strides=[", stride, ",", stride, "], pads=[",
                  pad, ",", pad, ",", pad, ",", pad, "]}\n %1 = relu(%0)\n return %1\n}"));
    for (const char* rule : {"by-cost", "only-generic"})
      expect_like_reference(module, options({rule}));
    if (HasFailure()) FAIL() << print(module);
  }
}

}  // namespace
}  // namespace byoc::test
