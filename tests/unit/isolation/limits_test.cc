// SPDX-License-Identifier: Apache-2.0
// Limits of memory and time of whole commands; damage of artifacts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "support/faults.h"
#include "unit/driver/command.h"

namespace byoc::test {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

class Limits : public ::testing::Test {
 protected:
  Limits() { model = byoc.write("m.ir", kTwoOps); }
  std::string breaking(const std::string& in, const std::string& kind) const {
    return cat(" --plugin ", fault_path("crasher"), " --plugin-option crasher.in=", in,
               " --plugin-option crasher.signal=", kind, " --compiler crasher,json ");
  }
  Byoc byoc;
  std::string model;
};

TEST_F(Limits, CompilingThatTakesLongerThanTheLimitEndsWithItsName) {
  for (std::string command : {"compile ", "run "}) {
    const auto begin = std::chrono::steady_clock::now();
    const std::string output = command == "run " ? "" : " -o " + byoc.file("m.byoc");
    const Ran ran = byoc(command + model + breaking("compile", "HANG") + "--time-limit 1" + output);
    const auto took = std::chrono::steady_clock::now() - begin;
    EXPECT_EQ(ran.code, 1) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("error[time-limit]"));
    EXPECT_THAT(ran.err, HasSubstr("--time-limit 1"));
    EXPECT_LT(took, std::chrono::seconds(5));
    EXPECT_FALSE(std::filesystem::exists(byoc.file("m.byoc")));
  }
}

TEST_F(Limits, TheLimitOfTimeEndsBeforeTheRun) {
  EXPECT_EQ(byoc("run " + model + " --compiler json --time-limit 60").code, 0);
}

TEST_F(Limits, LoadingThatTakesLongerThanTheLimitEndsWithItsName) {
  const std::string compiled = byoc.file("m.byoc");
  ASSERT_EQ(byoc("compile " + model + breaking("nowhere", "HANG") + "-o " + compiled).code, 0);
  Byoc byoc_run(
      cat("BYOC_TEST_CRASH=load BYOC_TEST_SIGNAL=HANG ", BYOC_BUILD_DIR, "/bin/byoc-run"));
  const Ran ran = byoc_run(compiled + " --plugin " + fault_path("crasher") + " --time-limit 1");
  EXPECT_EQ(ran.code, 1) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("error[time-limit]"));
}

// Constants of less than 16 MiB together stay in memory; larger ones are in files.
TEST_F(Limits, AModelThatNeedsMoreMemoryThanTheLimitIsAnErrorWithItsName) {
  const std::string large = byoc.write("large.ir", R"(fn main(%x: f32[3900000]) {
  %w = const(1.5) : f32[3900000]
  %0 = add(%x, %w)
  return %0
})");
  const Ran ran = byoc("run " + large + " --compiler json --max-memory 20M");
  EXPECT_EQ(ran.code, 1) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("error[max-memory]"));
  EXPECT_THAT(ran.err, HasSubstr("--max-memory"));
}

TEST_F(Limits, ARunawayPluginIsStoppedByTheLimitOfTheCommand) {
  const Ran ran = byoc("run " + model + breaking("compile", "MEMORY") + "--max-memory 256M");
  EXPECT_NE(ran.code, 0);
  EXPECT_THAT(ran.err, HasSubstr("error[plugin-crash]: SIGSEGV in plugin \"crasher\""));
}

class Damage : public Limits {
 protected:
  Damage() {
    compiled = byoc.file("m.byoc");
    EXPECT_EQ(byoc("compile " + model + " --compiler json -o " + compiled).code, 0);
  }
  std::string compiled;
};

TEST_F(Damage, AFlippedByteAnywhereIsFoundByInspect) {
  EXPECT_EQ(byoc("inspect " + compiled).code, 0);
  const std::string good = get(compiled);
  for (size_t at = 0; at < good.size(); at += 1 + good.size() / 100) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    put(compiled, bad);
    const Ran ran = byoc("inspect " + compiled);
    EXPECT_EQ(ran.code, 1) << at;
    EXPECT_THAT(ran.err,
                AnyOf(HasSubstr("error[artifact-corrupt]"), HasSubstr("error[artifact-version]")))
        << at;
  }
}

TEST_F(Damage, TheSizesAndPluginsOfAnArtifactArePrinted) {
  const Json json = byoc.json("inspect " + compiled);
  EXPECT_EQ(json["sizes"][0]["modules"][0]["plugin"], "json");
  EXPECT_EQ(json["sizes"][0]["inputs"][0]["type"], "f32[2,3]");
}

TEST_F(Damage, AMeaningIsPrintedForASlugAndNotForAnother) {
  const Ran known = byoc("help artifact-corrupt");
  EXPECT_EQ(known.code, 0) << known.err;
  EXPECT_THAT(known.out, HasSubstr("compile the model again"));
  const Ran unknown = byoc("error artifact-corupt");
  EXPECT_EQ(unknown.code, 1);
  EXPECT_THAT(unknown.err, HasSubstr("artifact-corrupt"));
  EXPECT_EQ(byoc("error").code, 2);
  EXPECT_EQ(byoc("help compile").out, byoc("compile --help").out);
}

}  // namespace
}  // namespace byoc::test
