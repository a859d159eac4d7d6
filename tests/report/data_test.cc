// SPDX-License-Identifier: Apache-2.0
// Parts of a report's data that a program has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "byoc/base/json.h"
#include "core/tools/measure/peaks.h"
#include "core/tools/report/memory_json.h"
#include "core/tools/report/page.h"

namespace byoc::driver {
namespace {

using testing::HasSubstr;
using testing::Not;

const TensorSpec kFour{DType::kF32, {4}};
constexpr uint32_t kHost = Step::kHostExtern;

Place input() { return {Place::kInput, 0, 0}; }
Place output() { return {Place::kOutput, 0, 0}; }
Place arena(uint64_t offset) { return {Place::kArena, 0, offset}; }

// a(x) -> 0, b(0) -> 64, c(64, 0) -> 0, which reuses the memory of the first value, d(0) -> output.
Program four_steps() {
  Program program;
  program.inputs = {{"x", kFour}};
  program.outputs = {{"y", kFour}};
  program.steps = {{kHost, 0, "a", 1, {input(), arena(0)}, {kFour, kFour}, {}},
                   {kHost, 0, "b", 1, {arena(0), arena(64)}, {kFour, kFour}, {}},
                   {kHost, 0, "c", 2, {arena(64), arena(0), arena(0)}, {kFour, kFour, kFour}, {}},
                   {kHost, 0, "d", 1, {arena(0), output()}, {kFour, kFour}, {}}};
  program.arena_bytes = 128;
  program.peak_live_bytes = 96;
  return program;
}

TEST(ReportMemory, HasEachValueFromTheStepThatWritesItToTheLastReader) {
  Json memory = memory_json(four_steps());
  EXPECT_EQ(memory["arena_bytes"], 128);
  EXPECT_EQ(memory["peak_live_bytes"], 96);
  auto value = [&](size_t k) {
    const Json& v = memory["values"][k];
    return cat(v["region"].get<std::string>(), " ", v["offset"].get<int>(), " ",
               v["bytes"].get<int>(), " ", v["first"].get<int>(), "-", v["last"].get<int>());
  };
  ASSERT_EQ(memory["values"].size(), 3u);  // the output of the model is not in the arena
  EXPECT_EQ(value(0), "a 0 16 0-2");
  EXPECT_EQ(value(1), "b 64 16 1-2");
  EXPECT_EQ(value(2), "c 0 16 2-3");
}

// As a concat whose operands are computed in their places.
TEST(ReportMemory, KeepsThePartsOfAValueUntilTheValueIsRead) {
  const TensorSpec eight{DType::kF32, {8}};
  Program program = four_steps();
  program.steps = {{kHost, 0, "a", 0, {arena(0)}, {kFour}, {}},
                   {kHost, 0, "b", 0, {arena(16)}, {kFour}, {}},
                   {kHost, 0, "c", 1, {arena(0), output()}, {eight, kFour}, {}}};
  Json memory = memory_json(program);
  ASSERT_GE(memory["values"].size(), 2u);
  for (size_t part = 0; part < 2; ++part) {
    EXPECT_EQ(memory["values"][part]["first"], part);
    EXPECT_EQ(memory["values"][part]["last"], 2);
  }
}

TEST(ReportSteps, HaveTheTypesOfTheirArguments) {
  Executable executable;
  executable.program.steps = {{0, 0, "f", 1, {input(), output()}, {kFour, kFour}, {}},
                              {kHost, 0, "h", 1, {input(), output()}, {kFour, kFour}, {}}};
  ExternalFunction function{.symbol = "f", .n_in = 1, .n_out = 1, .workspace_bytes = 640};
  executable.modules.push_back({.plugin = "json", .functions = {function}});
  Json steps = steps_json(executable);
  EXPECT_EQ(steps[0]["inputs"][0], "f32[4]");
  EXPECT_EQ(steps[0]["outputs"].size(), 1u);
  EXPECT_EQ(steps[0]["workspace_bytes"], 640);
  EXPECT_FALSE(steps[1].contains("workspace_bytes")) << "the work of the host is unknown";
}

TEST(Peaks, TwoThreadsAreNotSlowerThanAThirdOfOne) {
  Peaks one = measure_peaks(1), two = measure_peaks(2);
  EXPECT_EQ(two.threads, 2u);
  EXPECT_GT(one.gb_per_s, 0.1);
  EXPECT_LT(one.gb_per_s, 10'000) << "no machine reads so fast; the loop was removed";
  EXPECT_GT(two.gflop_per_s, one.gflop_per_s / 3);
}

TEST(CoreRates, AreThoseOfOneThreadAndOfAll) {
  CoreRates two = measure_cores(2);
  EXPECT_EQ(two.threads, 2u);
  EXPECT_GT(two.speedup(), 0.2);
  EXPECT_LT(two.speedup(), 3);
  EXPECT_NEAR(two.one_gflop_per_s, measure_peaks(1).gflop_per_s, two.one_gflop_per_s * 0.8);
  CoreRates one = measure_cores(0);
  EXPECT_EQ(one.threads, 1u);
  EXPECT_EQ(one.round_trip_ns, 0) << "there is no other processor";
}

TEST(CoreRates, HaveTheTimeOfAValueBetweenTwoProcessors) {
  CoreRates two = measure_cores(2);
  if (two.cores < 2) GTEST_SKIP() << "one processor";
  EXPECT_GT(two.round_trip_ns, 5) << "no value reaches another core and returns so soon";
  EXPECT_LT(two.round_trip_ns, 1e7);
}

TEST(CoreRates, ShowWhetherThreadsHaveACoreEach) {
  CoreRates rates{.threads = 4, .cores = 2, .one_gflop_per_s = 100, .all_gflop_per_s = 181};
  EXPECT_TRUE(rates.has_cores()) << "the threads share two cores";
  EXPECT_DOUBLE_EQ(rates.limit(), 1.8);
  rates.all_gflop_per_s = 179;
  EXPECT_FALSE(rates.has_cores());
  EXPECT_TRUE(CoreRates{}.has_cores()) << "nothing was measured";
}

TEST(ReportPage, NoTextOfAModelEndsTheElement) {
  Json data = {{"model", "</script><b>&.onnx"}, {"configurations", {{"x", "</script><!--\xff"}}}};
  std::string page = report_page(data);
  EXPECT_THAT(page, Not(HasSubstr("</script><!--")));
  EXPECT_THAT(page, HasSubstr("\\u003c/script>\\u003c!--\xef\xbf\xbd"));
  EXPECT_THAT(page, HasSubstr("<title>&lt;/script>&lt;b>&amp;.onnx - byoc report</title>"));
}

TEST(ReportPage, NeedsNoOtherFile) {
  std::string page = report_page({{"model", "m"}, {"configurations", Json::array()}});
  for (const char* text : {"http:", "https:", "src=", "@import", "fetch(", "XMLHttpRequest"})
    EXPECT_THAT(page, Not(HasSubstr(text)));
}

}  // namespace
}  // namespace byoc::driver
