// SPDX-License-Identifier: Apache-2.0
// Descriptions of machines: their form, faults, and the view that plugins get.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/machine/machine.h"
#include "support/paths.h"
#include "support/temp_folder.h"

namespace byoc::machine {
namespace {

using testing::HasSubstr;

Machine of_tests() {
  Result<Machine> machine = read_machine(BYOC_SOURCE_DIR "/tests/support/machine.json");
  EXPECT_TRUE(machine.ok()) << machine.status().to_string();
  return machine.ok() ? *std::move(machine) : assumed_machine();
}

TEST(Machine, IsTheSameAfterJson) {
  const Machine machine = of_tests();
  Result<Machine> again = machine_from_json(to_json(machine));
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  EXPECT_EQ(to_json(*again), to_json(machine));
  EXPECT_EQ(again->levels.back().bytes, Level::kMemory);
  EXPECT_FALSE(to_json(machine)["levels"].back().contains("bytes"));
}

TEST(Machine, FaultsNameTheMember) {
  struct Case {
    const char *member, *json, *message;
  };
  for (const Case& one : std::initializer_list<Case>{
           {"format", "\"byoc-machine-0\"", "its \"format\" is not byoc-machine-1"},
           {"processor", "7", "\"processor\" is no text"},
           {"cores", "0", "\"cores\" is no number of at least 1"},
           {"f32_gop_per_s", "{\"one\": 0, \"all\": 1}", "\"f32_gop_per_s.one\" is no number"},
           {"f32_gop_per_s", "50", "\"f32_gop_per_s\" is no object with \"one\" and \"all\""},
           {"i8_gop_per_s", "{\"one\": 1}", "\"i8_gop_per_s.all\" is no number of at least 0"},
           {"levels", "[]", "\"levels\" is no list of caches and the memory"},
           {"levels", "[7]", "levels[0]. is no object"},
           {"loop_ns", "-1", "\"loop_ns\" is no number of at least 0"},
           {"round_trip_ns", "\"x\"", "\"round_trip_ns\" is no number of at least 0"}}) {
    Json json = to_json(of_tests());
    json[one.member] = Json::parse(one.json);
    Result<Machine> machine = machine_from_json(json);
    ASSERT_FALSE(machine.ok()) << one.json;
    EXPECT_EQ(machine.status().slug(), "machine");
    EXPECT_THAT(machine.status().message(), HasSubstr(one.message));
  }
}

TEST(Machine, TheLastLevelIsTheMemoryAndNoOther) {
  Json json = to_json(of_tests());
  json["levels"].back()["bytes"] = 1000;
  EXPECT_THAT(machine_from_json(json).status().message(), HasSubstr("the last of \"levels\""));
  json = to_json(of_tests());
  json["levels"][0].erase("bytes");
  EXPECT_THAT(machine_from_json(json).status().message(), HasSubstr("levels[0].bytes"));
}

TEST(Machine, AFileWithAFaultIsNamed) {
  const test::TempFolder folder;
  test::put(folder.file("a.json"), "{\"format\"");
  const Status cut = read_machine(folder.file("a.json")).status();
  EXPECT_EQ(cut.slug(), "machine");
  EXPECT_THAT(cut.to_string(), HasSubstr(folder.file("a.json")));
  EXPECT_EQ(read_machine(folder.file("none.json")).status().slug(), "machine");
}

TEST(Machine, RatesOfSomeThreadsAreBetweenOneAndAll) {
  const Machine machine = of_tests();  // of four cores
  EXPECT_DOUBLE_EQ(rate_at(machine, {10, 31}, 1), 10);
  EXPECT_DOUBLE_EQ(rate_at(machine, {10, 31}, 2), 17);  // 10 + 21 / 3
  EXPECT_DOUBLE_EQ(rate_at(machine, {10, 31}, 4), 31);
  EXPECT_DOUBLE_EQ(rate_at(machine, {10, 31}, 9), 31);
  EXPECT_DOUBLE_EQ(rate_at(machine, {10, 31}, 0), 31) << "all cores";
}

TEST(MachineView, HasTheRatesOfItsThreads) {
  const auto view = view_of(of_tests(), 2);
  EXPECT_EQ(view->h.size, sizeof(byoc_machine));
  EXPECT_EQ(view->h.tag, uint32_t{BYOC_TAG_MACHINE});
  EXPECT_EQ(view->threads, 2u);
  EXPECT_DOUBLE_EQ(view->f32.one, 100);
  EXPECT_DOUBLE_EQ(view->f32.all, 200);
  ASSERT_EQ(view->n_levels, 4u);
  EXPECT_EQ(view->levels[1].bytes, 1048576u);
  EXPECT_DOUBLE_EQ(view->levels[2].read.all, 50);
  EXPECT_EQ(view->levels[3].bytes, UINT64_MAX);
  EXPECT_DOUBLE_EQ(view->loop_ns, 1000) << "2000 with four workers";
  EXPECT_DOUBLE_EQ(view_of(of_tests(), 4)->loop_ns, 2000);
  EXPECT_DOUBLE_EQ(view_of(of_tests(), 8)->loop_ns, 4000);
}

TEST(MachineView, OfOneThreadHasNoCostsOfLoops) {
  const auto view = view_of(of_tests(), 1);
  EXPECT_DOUBLE_EQ(view->f32.all, 100);
  EXPECT_EQ(view->loop_ns, 0);
  EXPECT_EQ(view->barrier_ns, 0);
}

TEST(Peaks, AreThoseOfTheThreads) {
  const Machine machine = of_tests();
  const Peaks one = peaks_of(machine, 1), all = peaks_of(machine, 0);
  EXPECT_DOUBLE_EQ(one.gflop_per_s, 100);
  EXPECT_DOUBLE_EQ(one.gb_per_s, 10);
  EXPECT_EQ(all.threads, 4u);
  EXPECT_DOUBLE_EQ(all.gb_per_s, 30);
}

}  // namespace
}  // namespace byoc::machine
