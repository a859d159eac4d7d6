// SPDX-License-Identifier: Apache-2.0
// run --profile and bench: the spans that a plugin reports for the inside of its regions, with the
// names of the user's nodes. The model is tests/models/digits: six convolutions. The result of one
// is added to a residual that is read twice.
#include <algorithm>

#include "command.h"
#include "plugins/onednn/library/implementations.h"
#include "support/paths.h"

namespace byoc::test {
namespace {

using testing::AnyOf;
using testing::Eq;
using testing::HasSubstr;

const std::string kProfiledDigits =
    BYOC_SOURCE_DIR "/tests/models/digits/model.onnx --shape N=1 --compiler onednn";

std::vector<Json> reorders_of(const Json& spans) {
  std::vector<Json> out;
  std::copy_if(spans.begin(), spans.end(), std::back_inserter(out),
               [](const Json& span) { return span["is_reorder"] == true; });
  return out;
}

Json span_of(const Json& spans, const std::string& name) {
  for (const Json& span : spans) {
    if (span["name"] == name && span["is_reorder"] == false) return span;
  }
  ADD_FAILURE() << "no span of " << name;
  return {{"details", {{"dst", ""}}}};
}

TEST(OnednnProfile, HasAPrimitivePerConvolutionInItsFormat) {
  Byoc byoc;
  Json json = byoc.json("run " + kProfiledDigits + " --profile");
  ASSERT_EQ(json["profile"].size(), 1u) << "expected one region";
  for (const char* name : {"/stem/stem.0/Conv", "/block/block.0/Conv", "/conv/Conv", "/down/Conv",
                           "/wide/wide.0/Conv", "/top/top.0/Conv"}) {
    Json span = span_of(json["spans"], name);
    EXPECT_EQ(span["step"], 0);
    EXPECT_EQ(span["calls_per_run"], 1.0);
    EXPECT_GT(span["median_ns"], 0.0);
    EXPECT_THAT(span["details"]["dst"].get<std::string>(),
                AnyOf(Eq("aBcd8b"), Eq("aBcd16b"), Eq("acdb")));
    std::string name_of_kernel = span["details"]["implementation"];
    EXPECT_TRUE(onednn::is_generated(name_of_kernel) || onednn::is_own_loop(name_of_kernel))
        << name_of_kernel;
  }
}

// Returns the node whose operand oneDNN reorders, if any. It depends on the layouts of the kernels:
// - oneDNN 2.6 with AVX2: all convolutions use blocks of channels, and /Flatten needs plain memory.
// - oneDNN 2.6 with AVX-512: all kernels ("brgconv") are channels-last, in which one pixel is flat
//   already, so nothing is reordered.
// - oneDNN 3.2: the stem, which has one channel, uses blocks, the others are channels-last, so the
//   tensor between them is reordered.
std::optional<std::string> reordered_for(const Json& spans) {
  auto is_channels_last = [&](const char* name) {
    return onednn::is_channels_last_convolution(
        span_of(spans, name)["details"]["implementation"].get<std::string>());
  };
  if (!is_channels_last("/block/block.0/Conv")) return "/Flatten";
  if (is_channels_last("/stem/stem.0/Conv")) return std::nullopt;
  return "/block/block.0/Conv";
}

// The convolution adds its result to the residual in place, or to the reordered copy of it.
TEST(OnednnProfile, ShowsThatNothingIsReorderedInsideARegion) {
  Byoc byoc;
  Json spans = byoc.json("run " + kProfiledDigits + " --profile")["spans"];
  Json format = span_of(spans, "/block/block.0/Conv")["details"]["dst"];
  for (const char* name : {"/conv/Conv", "/down/Conv", "/wide/wide.0/Conv", "/top/top.0/Conv"})
    EXPECT_EQ(span_of(spans, name)["details"]["dst"], format) << name;
  std::vector<Json> reorders = reorders_of(spans);
  std::optional<std::string> expected = reordered_for(spans);
  ASSERT_EQ(reorders.size(), expected ? 1u : 0u) << spans.dump(1);
  if (!expected) return;
  EXPECT_EQ(reorders[0]["name"], *expected);
  if (reorders[0]["name"] == "/Flatten") {
    EXPECT_EQ(reorders[0]["details"]["dst"], "abcd");
  } else {
    EXPECT_EQ(reorders[0]["details"]["dst"], format);
  }
}

TEST(OnednnProfile, IsInBenchAsWell) {
  Byoc byoc;
  std::string line = "bench " + kProfiledDigits + " --warmup 0 --min-time 0.02 --rounds 2";
  Json json = byoc.json(line);
  Json spans = json["configurations"][0]["spans"];
  EXPECT_EQ(span_of(spans, "/down/Conv")["calls_per_run"], 1.0);
  const bool has_reorder = reordered_for(spans).has_value();
  EXPECT_EQ(reorders_of(spans).size(), has_reorder ? 1u : 0u);
  Ran ran = byoc(line);
  EXPECT_THAT(ran.out,
              HasSubstr(has_reorder ? "inside the kernels: 11 primitives, 1 of them a reorder ("
                                    : "inside the kernels: 10 primitives, 0 of them reorders ("));
  EXPECT_THAT(ran.out, HasSubstr("\nimplementation "));
}

TEST(OnednnProfile, IsNotThereUnlessAskedFor) {
  Byoc byoc;
  EXPECT_EQ(byoc.json("run " + kProfiledDigits)["spans"].size(), 0u) << "spans without --profile";
}

// The first run makes kernels and touches pages for the first time, so it is shown apart.
TEST(SteadyProfile, AddsUpToTheWholeAndShowsTheFirstRunApart) {
  Byoc byoc;
  auto outside = [](const Json& profiled) {
    return profiled["steady"]["outside_ns"].get<double>() /
           profiled["steady"]["time_ns"].get<double>();
  };
  // Other work that interrupts most runs between steps is outside of them, too; it does not do so
  // in each of many commands.
  Json json = byoc.json("run " + kProfiledDigits + " --profile");
  for (int k = 0; k < 50 && outside(json) >= 0.02; ++k)
    json = byoc.json("run " + kProfiledDigits + " --profile");
  double sum = json["steady"]["outside_ns"].get<double>(), total = json["steady"]["time_ns"];
  for (const Json& step : json["profile"]) {
    sum += step["time_ns"].get<double>();
    EXPECT_GT(step["first_ns"].get<double>(), 0);
  }
  EXPECT_NEAR(sum, total, 1e-6 * total);
  EXPECT_LT(outside(json), 0.02) << "the steps alone are within 2 % of the whole";
  EXPECT_GE(json["steady"]["runs"], 5);
  EXPECT_EQ(json["profile"][0]["runs"], json["steady"]["runs"])
      << "the first run is not among them";
  Ran ran = byoc("run " + kProfiledDigits + " --profile");
  EXPECT_THAT(ran.out, HasSubstr("runs after a warm-up, the middle third by time averaged:"));
  EXPECT_THAT(ran.out, HasSubstr("outside of the steps"));
  EXPECT_THAT(ran.out, HasSubstr("; later runs "));
  EXPECT_EQ(byoc.json("run " + kProfiledDigits)["steady"], nullptr);
}

}  // namespace
}  // namespace byoc::test
