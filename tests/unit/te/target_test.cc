// SPDX-License-Identifier: Apache-2.0
// Targets by name and as JSON.
#include "byoc/te/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace byoc::te {
namespace {

using testing::HasSubstr;

Target parsed(std::string_view text) {
  Result<Target> target = parse_target(text);
  EXPECT_TRUE(target.ok()) << target.status().to_string();
  return target.ok() ? *target : Target{};
}

TEST(Target, LevelsHaveTheFeaturesThatTheAbiNames) {
  Target v2 = parsed("x86-64-v2"), v3 = parsed("x86-64-v3"), v4 = parsed("x86-64-v4");
  EXPECT_TRUE(v2.has("sse4.2") && v2.has("popcnt") && !v2.has("avx"));
  for (const char* feature : {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"})
    EXPECT_TRUE(v3.has(feature)) << feature;
  EXPECT_FALSE(v3.has("avx512f"));
  EXPECT_TRUE(v4.has("avx512f") && v4.has("avx512vl") && v4.has("avx2") && v4.has("sse2"));
  EXPECT_EQ(v2.lanes(4), 4);
  EXPECT_EQ(v3.lanes(4), 8);
  EXPECT_EQ(v4.lanes(8), 8);
  EXPECT_EQ(v4.vector_registers, 32);
  EXPECT_EQ(v3.cpu, "x86-64-v3");
}

TEST(Target, AddsInstructionsForIntegersToALevel) {
  Target short_vectors = parsed("x86-64-v3+avxvnni"), v3 = parsed("x86-64-v3");
  EXPECT_TRUE(short_vectors.has("avxvnni") && short_vectors.has("avx2"));
  std::erase(short_vectors.features, "avxvnni");
  EXPECT_EQ(print(short_vectors), print(v3));
  EXPECT_TRUE(parsed("x86-64-v4+avxvnni+avx512vnni").has("avx512vnni"));
  EXPECT_TRUE(parsed("x86-64-v4+avx512vnni+amx-int8").has("amx-int8"));
  for (const char* name : {"x86-64-v2+avxvnni", "x86-64-v3+amx-int8", "x86-64-v3+avx512vnni",
                           "x86-64-v3+avx", "+avxvnni", "x86-64-v3+"})
    EXPECT_EQ(parse_target(name).status().slug(), "unknown-target") << name;
}

TEST(Target, KnowsAarch64) {
  Target target = parsed("aarch64");
  EXPECT_EQ(target.arch, "aarch64");
  EXPECT_TRUE(target.has("neon"));
  EXPECT_EQ(target.lanes(4), 4);
}

TEST(Target, NativeIsWhatTheCompilerFindsHere) {
  Target target = parsed("native");
#if defined(__x86_64__)
  EXPECT_EQ(target.arch, "x86_64");
  EXPECT_EQ(target.has("avx2") && target.has("fma"),
            __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
#endif
  EXPECT_GE(target.l1_bytes, 8 << 10);
  EXPECT_GE(target.l2_bytes, target.l1_bytes);
  EXPECT_EQ(print(parsed("")), print(target));
  EXPECT_EQ(print(parsed("{}")), print(target));
}

TEST(Target, PrintedReadsBackTheSame) {
  for (const char* name : {"native", "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"})
    EXPECT_EQ(print(parsed(print(parsed(name)))), print(parsed(name))) << name;
}

TEST(Target, JsonChangesWhatItNames) {
  Target target = parsed(R"({"cpu":"x86-64-v3","vector_bits":128,"l1_bytes":16384,"threads":4})");
  EXPECT_EQ(target.cpu, "x86-64-v3");
  EXPECT_EQ(target.lanes(4), 4);
  EXPECT_EQ(target.l1_bytes, 16384);
  EXPECT_EQ(target.threads, 4u);
  EXPECT_TRUE(target.has("avx2"));
  EXPECT_FALSE(target.shares_all);
  target.shares_all = true;
  EXPECT_TRUE(parsed(print(target)).shares_all);
  Target tuned = parsed(R"({"cpu":"znver3","features":["avx2","fma"],"vector_bits":256})");
  EXPECT_EQ(tuned.cpu, "znver3");
  EXPECT_TRUE(tuned.has("fma") && !tuned.has("bmi"));
}

TEST(Target, RefusesNamesItDoesNotKnow) {
  auto target = parse_target("x86-64-v9");
  EXPECT_EQ(target.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(target.status().slug(), "unknown-target");
  EXPECT_THAT(target.status().message(),
              HasSubstr("\"x86-64-v9\"; known are native, x86-64-v2, x86-64-v3, x86-64-v4"));
  EXPECT_EQ(parse_target(R"({"cpu":"znver3"})").status().slug(), "unknown-target");
  EXPECT_EQ(parse_target(R"({"arch":"mips","cpu":"x","features":[]})").status().slug(),
            "unknown-target");
}

TEST(Target, RefusesMalformedJson) {
  EXPECT_EQ(parse_target("{\"cpu\":").status().slug(), "target-json");
  EXPECT_THAT(parse_target(R"({"vector_bits":"wide"})").status().message(),
              HasSubstr("\"vector_bits\" is \"wide\""));
  EXPECT_EQ(parse_target(R"({"features":[1]})").status().slug(), "target-json");
  EXPECT_EQ(parse_target(R"({"threads":0})").status().slug(), "target-json");
}

}  // namespace
}  // namespace byoc::te
