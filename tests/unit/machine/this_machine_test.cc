// SPDX-License-Identifier: Apache-2.0
// The description of this machine: measured once, and found again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "byoc/base/file.h"
#include "core/machine/bound_threads.h"
#include "core/machine/core_rates.h"
#include "core/machine/measure_machine.h"
#include "core/machine/this_machine.h"
#include "core/measure/store/this_machine.h"
#include "support/paths.h"
#include "support/temp_folder.h"

namespace byoc::machine {
namespace {

using testing::HasSubstr;

TEST(MeasuredMachine, IsPlausible) {
  const Machine machine = measure_machine();
  EXPECT_EQ(machine.processor, measure::machine_name());
  EXPECT_EQ(machine.origin, "measured");
  EXPECT_GT(machine.f32.one, 0.5);
  EXPECT_LT(machine.f32.one, 10'000) << "no core computes so fast; the loop was removed";
  EXPECT_GT(machine.f32.all, machine.f32.one / 3);
  ASSERT_GE(machine.levels.size(), 2u);
  EXPECT_EQ(machine.levels.back().bytes, Level::kMemory);
  for (const Level& level : machine.levels) {
    EXPECT_GT(level.read.one, 0.1);
    EXPECT_LT(level.read.one, 10'000) << "no machine reads so fast; the loop was removed";
  }
  EXPECT_GT(machine.levels.front().read.one, machine.levels.back().read.one / 2);
  Result<Machine> again = machine_from_json(to_json(machine));
  EXPECT_TRUE(again.ok()) << again.status().to_string();
}

TEST(KnownMachine, IsMeasuredOnce) {
  const test::TempFolder folder;
  const Machine first = known_or_measured(folder.path());
  EXPECT_EQ(first.origin, "measured");
  const auto begin = std::chrono::steady_clock::now();
  const Machine second = known_or_measured(folder.path());
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  EXPECT_THAT(second.origin, HasSubstr("measured before"));
  EXPECT_EQ(to_json(first), to_json(second));
  EXPECT_LT(time.count(), 0.2);
}

TEST(KnownMachine, AFileThatIsDamagedIsReplaced) {
  const test::TempFolder folder;
  const std::string path = cached_path(folder.path());
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  test::put(path, "{\"format\": \"byoc-machine-1\"");
  EXPECT_EQ(known_or_measured(folder.path()).origin, "measured");
  EXPECT_TRUE(read_machine(path).ok());
}

TEST(KnownMachine, AFileOfAnotherMachineIsReplaced) {
  const test::TempFolder folder;
  const std::string path = cached_path(folder.path());
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  Machine other = assumed_machine();
  other.processor = "another one";
  ASSERT_TRUE(write_file(path, to_json(other).dump()).ok());
  EXPECT_EQ(known_or_measured(folder.path()).processor, measure::machine_name());
}

TEST(KnownMachine, OneThatWasBusyIsMeasuredAgainAfterAWhile) {
  const test::TempFolder folder;
  const std::string path = cached_path(folder.path());
  Machine busy = known_or_measured(folder.path());
  busy.is_busy = true;
  busy.loop_ns = 12345;
  ASSERT_TRUE(write_file(path, to_json(busy).dump()).ok());
  EXPECT_EQ(known_or_measured(folder.path()).loop_ns, 12345);
  std::filesystem::last_write_time(
      path, std::filesystem::file_time_type::clock::now() - std::chrono::minutes(11));
  EXPECT_EQ(known_or_measured(folder.path()).origin, "measured");
}

TEST(KnownMachine, WithoutACacheFolderIsMeasured) {
  EXPECT_EQ(known_or_measured("").origin, "measured");
}

TEST(ShippedMachine, IsOfThisProcessorAndItsCores) {
  const test::TempFolder folder;
  Machine row = assumed_machine();
  row.processor = "another one";
  ASSERT_TRUE(write_file(folder.file("a.json"), to_json(row).dump()).ok());
  EXPECT_FALSE(shipped_in(folder.path()).has_value());
  row.processor = measure::machine_name();
  row.cores = static_cast<uint32_t>(processors().size()) + 1;
  ASSERT_TRUE(write_file(folder.file("b.json"), to_json(row).dump()).ok());
  test::put(folder.file("c.json"), "damaged");
  EXPECT_FALSE(shipped_in(folder.path()).has_value()) << "it has more cores";
  --row.cores;
  ASSERT_TRUE(write_file(folder.file("d.json"), to_json(row).dump()).ok());
  const std::optional<Machine> found = shipped_in(folder.path());
  ASSERT_TRUE(found.has_value());
  EXPECT_THAT(found->origin, HasSubstr("/d.json"));
  EXPECT_FALSE(shipped_in(folder.file("none")).has_value());
}

TEST(ShippedMachine, EveryRowOfTheTreeCanBeRead) {
  for (const auto& file :
       std::filesystem::directory_iterator(BYOC_SOURCE_DIR "/share/byoc/machines")) {
    if (file.path().extension() != ".json") continue;
    EXPECT_TRUE(read_machine(file.path().string()).ok()) << file.path();
  }
}

class GivenMachine : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* old = getenv("BYOC_MACHINE")) old_ = old;
  }
  void TearDown() override {
    if (old_) setenv("BYOC_MACHINE", old_->c_str(), 1);
    else unsetenv("BYOC_MACHINE");
  }
  std::optional<std::string> old_;
};

TEST_F(GivenMachine, IsThatOfTheFile) {
  setenv("BYOC_MACHINE", BYOC_SOURCE_DIR "/tests/support/machine.json", 1);
  const auto machine = this_machine();
  ASSERT_TRUE(machine.ok()) << machine.status().to_string();
  EXPECT_EQ((*machine)->processor, "a machine of round numbers, for tests");
  EXPECT_THAT((*machine)->origin, HasSubstr("of BYOC_MACHINE"));
}

TEST_F(GivenMachine, AFileThatCannotBeReadIsAnError) {
  const test::TempFolder folder;
  setenv("BYOC_MACHINE", folder.file("none.json").c_str(), 1);
  const auto machine = this_machine();
  ASSERT_FALSE(machine.ok());
  EXPECT_EQ(machine.status().slug(), "machine");
  EXPECT_THAT(machine.status().to_string(), HasSubstr("none.json"));
}

TEST(CoreRates, AreThoseOfOneThreadAndOfAll) {
  CoreRates two = measure_cores(2);
  EXPECT_EQ(two.threads, 2u);
  EXPECT_GT(two.speedup(), 0.2);
  EXPECT_LT(two.speedup(), 3);
  EXPECT_GT(two.one_gflop_per_s, 0.5);
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

}  // namespace
}  // namespace byoc::machine
