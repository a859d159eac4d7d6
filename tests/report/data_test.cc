// SPDX-License-Identifier: Apache-2.0
// Parts of a report's data that a program has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "byoc/base/json.h"
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
