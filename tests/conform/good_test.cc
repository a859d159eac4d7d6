// SPDX-License-Identifier: Apache-2.0
// Plugins that keep all promises pass every check at the core level, and the kit tries everything
// that it reports as tried.
#include <filesystem>

#include "core/conform/samples/pattern_instances.h"
#include "core/conform/samples/samples.h"
#include "support/faults.h"
#include "support/paths.h"
#include "unit/driver/command.h"

namespace byoc::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

Json checked(const std::string& plugin) { return Byoc().json("check-plugin " + plugin); }

std::vector<std::string> named(const Json& json, const std::string& outcome) {
  std::vector<std::string> names;
  for (const Json& check : json["checks"]) {
    if (check["outcome"] == outcome) names.push_back(check["name"]);
  }
  return names;
}

Json row_of(const Json& json, const std::string& op) {
  for (const Json& row : json["ops"]) {
    if (row["op"] == op) return row;
  }
  return Json();
}

TEST(Json, PassesEveryCheckOnEveryOp) {
  Json json = checked(std::string(BYOC_PLUGIN_DIR) + "/libbyoc_json.so");
  EXPECT_THAT(named(json, "fail"), IsEmpty()) << json.dump(1);
  EXPECT_THAT(
      named(json, "skip"),
      testing::ElementsAre("in_place", "composites", "examples", "spans", "knobs", "knobs_repeat",
                           "points", "outside", "first_guess", "groups", "legal_groups",
                           "groups_repeat", "group_kernels", "device_memory", "device_events",
                           "device_order", "device_drop"));
  for (const Json& row : json["ops"]) EXPECT_GT(row["accepted"], 0) << row.dump();
  EXPECT_THAT(row_of(json, "add")["dtypes"], Contains("bf16"));
}

TEST(Onednn, PassesEveryCheck) {
  Json json = checked(std::string(BYOC_PLUGIN_DIR) + "/libbyoc_onednn.so");
  EXPECT_THAT(named(json, "fail"), IsEmpty()) << json.dump(1);
  for (const char* check : {"composites", "spans", "open_compiles", "open_values", "open_threads"})
    EXPECT_THAT(named(json, "pass"), Contains(check));
  EXPECT_GT(row_of(json, "conv2d")["accepted"], 5);
  EXPECT_EQ(row_of(json, "sin")["accepted"], 0);
}

// Plugins that are built where their library is there.
TEST(Openblas, PassesEveryCheck) {
  const std::string library = std::string(BYOC_PLUGIN_DIR) + "/libbyoc_openblas.so";
  if (!std::filesystem::exists(library)) GTEST_SKIP() << "OpenBLAS is missing";
  Json json = checked(library);
  EXPECT_THAT(named(json, "fail"), IsEmpty()) << json.dump(1);
  for (const char* check : {"composites", "spans"})
    EXPECT_THAT(named(json, "pass"), Contains(check));
  EXPECT_GT(row_of(json, "matmul")["accepted"], 5);
  EXPECT_EQ(row_of(json, "relu")["accepted"], 0);
}

TEST(Xnnpack, PassesEveryCheck) {
  const std::string library = std::string(BYOC_PLUGIN_DIR) + "/libbyoc_xnnpack.so";
  if (!std::filesystem::exists(library)) GTEST_SKIP() << "XNNPACK is missing";
  Json json = checked(library);
  EXPECT_THAT(named(json, "fail"), IsEmpty()) << json.dump(1);
  for (const char* check : {"composites", "spans", "special", "guards"})
    EXPECT_THAT(named(json, "pass"), Contains(check));
  EXPECT_GT(row_of(json, "max_pool")["accepted"], 5);
  EXPECT_EQ(row_of(json, "sin")["accepted"], 0);
}

TEST(UnbrokenFault, PassesEveryCheck) {
  Json json = checked(fault_path("unruly_none"));
  EXPECT_THAT(named(json, "fail"), IsEmpty()) << json.dump(1);
  EXPECT_THAT(named(json, "skip"),
              testing::ElementsAre("in_place", "examples", "spans", "first_guess", "groups",
                                   "legal_groups", "groups_repeat", "group_kernels",
                                   "open_compiles", "open_values", "open_threads", "device_memory",
                                   "device_events", "device_order", "device_drop"));
}

TEST(PatternsOfSeveralOps, PassEveryCheck) {
  Json json = checked(fault_path("pairs"));
  EXPECT_THAT(named(json, "fail"), IsEmpty()) << json.dump(1);
  for (const char* check : {"ends", "longer", "optional", "required", "unknown_op", "unknown_dtype",
                            "unknown_attr", "requires", "compiles", "composites", "offset"})
    EXPECT_THAT(named(json, "pass"), Contains(check));
}

TEST(PatternsWithConstants, PassEveryCheck) {
  Json json = checked(fault_path("bias"));
  EXPECT_THAT(named(json, "fail"), IsEmpty()) << json.dump(1);
  for (const char* check :
       {"ends", "required", "unknown_op", "unknown_attr", "values", "constants"})
    EXPECT_THAT(named(json, "pass"), Contains(check));
}

TEST(GroupsOfADefaultCodegen, PassEveryCheck) {
  Json json = checked(fault_path("groups_none"));
  EXPECT_THAT(named(json, "fail"), IsEmpty()) << json.dump(1);
  for (const char* check : {"groups", "legal_groups", "groups_repeat", "group_kernels"})
    EXPECT_THAT(named(json, "pass"), Contains(check)) << json.dump(1);
  for (const Json& check : json["checks"]) {
    if (check["name"] != "group_kernels") continue;
    EXPECT_THAT(check["reason"], testing::MatchesRegex("tried [1-9][0-9]* groups of .* graphs"));
  }
}

TEST(OpenSizes, PassEveryCheck) {
  Json json = checked(fault_path("sizes_none"));
  EXPECT_THAT(named(json, "fail"), IsEmpty()) << json.dump(1);
  for (const Json& check : json["checks"]) {
    const std::string name = check["name"];
    if (!name.starts_with("open_")) continue;
    EXPECT_EQ(check["outcome"], "pass");
    EXPECT_THAT(check["reason"], testing::MatchesRegex("tried [1-9][0-9]* functions")) << name;
  }
}

// With the slot, and without a group for any graph of the kit, nothing was tried.
TEST(GroupsThatNoneOfTheGraphsHas, SkipTheChecksWithTheirNumber) {
  Json json = checked(cat(BYOC_BUILD_DIR, "/tests/support/plugins/libbyoc_regions.so --group 7"));
  EXPECT_THAT(named(json, "pass"), testing::Not(Contains("groups")));
  std::string reason;
  for (const Json& check : json["checks"]) {
    if (check["name"] == "groups") reason = check["reason"];
  }
  EXPECT_THAT(reason, testing::MatchesRegex("lists no group for [0-9]+ graphs of the kit .*"));
}

TEST(SoundSpans, PassEveryCheck) {
  Json json = checked(fault_path("unruly_spans_sound"));
  EXPECT_THAT(named(json, "fail"), IsEmpty()) << json.dump(1);
  EXPECT_THAT(named(json, "pass"), Contains("spans"));
}

TEST(Samples, AreNoneForAnOpThatTheTableDoesNotKnow) {
  OpDef op;
  op.name = "of_tomorrow";
  op.kind = FusionKind::kOpaque;
  op.inputs = {{"x", ""}, {"y", ""}, {"z", ""}};
  EXPECT_THAT(conform::programs_of(op, conform::Level::kFull), IsEmpty());
}

TEST(Samples, HoldEmptyScalarOddAndBroadcastOperands) {
  std::vector<std::string> labels;
  for (const auto& program : conform::programs_of(**all_ops().get("add"), conform::Level::kCore))
    labels.push_back(program.label);
  for (const char* expected : {"add f32[0,5] f32[5]", "add f32[] f32[3,5]", "add f32[1] f32[1]",
                               "add f32[2,1,5] f32[3,1]", "add i64[2,3,5] i64[2,3,5]"})
    EXPECT_THAT(labels, Contains(expected));
}

TEST(PatternInstances, AreMatchedAndDiffer) {
  auto pattern = Pattern::parse(
      R"({"repeat":{"one_of":[{"op":"relu","args":["$"]},{"op":"add","args":["$",{"any":true}]}]},)"
      R"("on":{"op":"conv2d","attrs":{"group":1,"strides":{"max":1}}},"min":1,"max":4})");
  ASSERT_TRUE(pattern.ok()) << pattern.status().to_string();
  auto instances = conform::instances_of(*pattern, 1, 64, 8);
  ASSERT_EQ(instances.size(), 8u);
  for (const conform::Instance& instance : instances) {
    EXPECT_THAT(instance.label, testing::StartsWith("conv2d "));
    EXPECT_GE(instance.ops, 2u);
  }
}

}  // namespace
}  // namespace byoc::test
