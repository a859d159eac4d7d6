// SPDX-License-Identifier: Apache-2.0
// Ctrl-C ends long work with exit code 130, and what was done until then is printed.
#include "unit/driver/command.h"

namespace byoc::test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

/// Runs a command with SIGINT after more and more time, until `is_due` is true of what it printed.
/// Gives up when the command ends by itself or the time is over.
template <class IsDue>
Ran interrupted(const std::string& arguments, IsDue is_due) {
  Ran ran;
  for (double seconds = 0.2; seconds < 100; seconds *= 1.15) {
    Byoc timeout(
        cat("timeout --preserve-status -s INT ", seconds, " ", BYOC_BUILD_DIR, "/bin/byoc"));
    ran = timeout(arguments);
    if (ran.code != 130 || is_due(ran)) break;
  }
  return ran;
}

/// A product that the reference computes for about a second.
constexpr const char* kLarge = R"(fn main(%x: f32[1024,2048], %y: f32[2048,1024]) {
  %0 = matmul(%x, %y) loc("product")
  return %0
})";

TEST(Interrupts, OfVerifyLeaveTheVerdictOnTheOutputs) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", kLarge);
  Ran ran = interrupted("verify " + model + " --compiler onednn,json --against json",
                        [](const Ran& one) { return !one.out.empty(); });
  ASSERT_EQ(ran.code, 130) << ran.out << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("against json, inputs not given are random, seed 0\nok   "));
  EXPECT_THAT(ran.out, testing::Not(HasSubstr("regions agree")));
  EXPECT_THAT(ran.err, HasSubstr("interrupted"));
}

TEST(Interrupts, OfVerifyLeaveTheVerdictOnTheOutputsAsJson) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", kLarge);
  Ran ran = interrupted("verify " + model + " --compiler onednn,json --against json --json",
                        [](const Ran& one) { return one.out.find("true") != std::string::npos; });
  ASSERT_EQ(ran.code, 130) << ran.out << ran.err;
  auto data = parse_json(ran.out);
  ASSERT_TRUE(data.ok()) << data.status().to_string() << ran.out;
  EXPECT_EQ((*data)["interrupted"], true);
  EXPECT_EQ((*data)["outputs"].size(), 1u);
  EXPECT_EQ((*data)["outputs"][0]["equal"], true);
}

TEST(Interrupts, OfCheckPluginLeaveTheChecksUntilThenAsJson) {
  std::string plugin = std::string(BYOC_BUILD_DIR) + "/lib/byoc/plugins/libbyoc_json.so";
  Ran ran = interrupted("check-plugin " + plugin + " --json",
                        [](const Ran& one) { return one.out.find("pass") != std::string::npos; });
  ASSERT_EQ(ran.code, 130) << ran.out << ran.err;
  auto data = parse_json(ran.out);
  ASSERT_TRUE(data.ok()) << data.status().to_string() << ran.out;
  EXPECT_EQ((*data)["interrupted"], true);
  EXPECT_GE((*data)["checks"].size(), 1u);
  EXPECT_EQ((*data)["checks"][0]["outcome"], "pass");
}

TEST(Interrupts, OfCheckPluginCountTheChecksUntilThen) {
  std::string plugin = std::string(BYOC_BUILD_DIR) + "/lib/byoc/plugins/libbyoc_json.so";
  Ran ran = interrupted("check-plugin " + plugin,
                        [](const Ran& one) { return one.out.find("pass") != std::string::npos; });
  ASSERT_EQ(ran.code, 130) << ran.out << ran.err;
  EXPECT_THAT(ran.err,
              ContainsRegex("interrupted; until then [1-9][0-9]* passed, 0 failed, 0 skipped"));
}

TEST(Interrupts, OfReportLeaveAPage) {
  Byoc byoc;
  std::string line = "report " + byoc.write("m.ir", kTwoOps) + " --compiler json --min-time 300" +
                     " --vs level=0 -o " + byoc.file("m.html") + " --json";
  Ran ran = interrupted(
      line, [](const Ran& one) { return one.out.find("\"ok\": true") != std::string::npos; });
  ASSERT_EQ(ran.code, 130) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("interrupted: the page has what was done until then"));
  EXPECT_THAT(get(byoc.file("m.html")), HasSubstr("\"interrupted\":true"));
  auto data = parse_json(ran.out);
  ASSERT_TRUE(data.ok()) << data.status().to_string();
  ASSERT_GE((*data)["configurations"].size(), 1u);
  EXPECT_EQ((*data)["configurations"][0]["explain"]["ops"].size(), 2u);
  for (const Json& configuration : (*data)["configurations"]) {
    const Json& bench = configuration["bench"];
    EXPECT_TRUE(bench.is_null() || bench["configurations"][0]["median_ns"] > 0) << "no time is 0";
  }
}

// Many short turns, so that blocks of turns are whole long before the end.
TEST(Interrupts, OfBenchLeaveNamesAndTheRatioUntilThen) {
  Byoc byoc;
  std::string line = "bench " + byoc.write("m.ir", kTwoOps) +
                     " --compiler onednn,json --vs compiler=json --no-peaks --warmup 0" +
                     " --min-time 300 --rounds 10000";
  Ran ran = interrupted(line, [](const Ran& one) {
    return one.out.find("times as long as A, 95 % interval") != std::string::npos;
  });
  ASSERT_EQ(ran.code, 130) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("\nconfiguration  threads"));
  EXPECT_THAT(ran.out, ContainsRegex("\nA +1 "));
  EXPECT_THAT(ran.out, ContainsRegex("\nB +1 "));
  EXPECT_THAT(ran.out, ContainsRegex("B \\(compiler=json\\) takes [0-9.]+ times as long as A"));
  EXPECT_THAT(ran.out, HasSubstr("control, A again: "));
}

TEST(Interrupts, OfBenchLeaveNamesBeforeABlockIsWhole) {
  Byoc byoc;
  std::string line = "bench " + byoc.write("m.ir", kTwoOps) +
                     " --compiler json --vs compiler=json --no-peaks --min-time 3000 --rounds 2";
  Ran ran = interrupted(line, [](const Ran& one) { return !one.out.empty(); });
  ASSERT_EQ(ran.code, 130) << ran.err;
  EXPECT_THAT(ran.out, ContainsRegex("\nA +1 "));
  EXPECT_THAT(ran.out, HasSubstr("against A: no ratio, as no block of turns is whole"));
}

}  // namespace
}  // namespace byoc::test
