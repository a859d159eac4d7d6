// SPDX-License-Identifier: Apache-2.0
// Points that lost a duel, and may have the smallest sample all the same.
#include "byoc/tune/duels.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "byoc/tune/history.h"
#include "records.h"
#include "support/temp_folder.h"

namespace byoc::tune {
namespace {

using test::kHere;
using test::point;
using test::record_of;
using test::space_of;

bool all(const Point&) { return true; }

Record lost(Record record, Point winner) {
  record.lost_to = std::move(winner);
  return record;
}

Point chosen(const std::vector<Record>& records) {
  const std::string llvm = "llvm";
  return History::of(records)->find({llvm, space_of("t"), kHere, 1}).point;
}

TEST(Duels, ChooseTheFastestWithoutADuel) {
  EXPECT_EQ(Duels().choose(point("1"), all), point("1"));
}

TEST(Duels, ChooseTheWinnerOfTheWinner) {
  Duels duels;
  duels.add(point("1"), point("2"));
  duels.add(point("2"), point("4"));
  EXPECT_EQ(duels.choose(point("1"), all), point("4"));
  EXPECT_EQ(duels.choose(point("8"), all), point("8"));
}

TEST(Duels, LeaveOutWinnersThatDoNotCount) {
  Duels duels;
  duels.add(point("1"), point("2"));
  duels.add(point("1"), point("4"));
  auto counts = [](const Point& at) { return at == point("4"); };
  EXPECT_EQ(duels.choose(point("1"), counts), point("4"));
  EXPECT_EQ(duels.choose(point("1"), [](const Point&) { return false; }), point("1"));
}

TEST(Duels, InACircleDecideNothing) {
  Duels duels;
  duels.add(point("1"), point("1"));
  EXPECT_TRUE(duels.is_empty());
  for (const char* tile : {"2", "4", "8"}) duels.add(point("1"), point(tile));
  for (const char* tile : {"2", "4", "8"}) duels.add(point(tile), point("1"));
  EXPECT_EQ(duels.choose(point("1"), all), point("1"));
  EXPECT_EQ(duels.choose(point("4"), all), point("4"));
}

TEST(Duels, EndForAnyGraph) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    Duels duels;
    for (int k = 0; k < 12; ++k)
      duels.add({{"tile", cat(random() % 6)}}, {{"tile", cat(random() % 6)}});
    const Point chosen = duels.choose({{"tile", "0"}}, all);
    EXPECT_TRUE(chosen == (Point{{"tile", "0"}}) || duels.winners_of(chosen).empty());
  }
}

// The tuner reports the champion, 100 ns, as the best point: a challenger that was 1 % faster lost.
TEST(History, ChoosesTheWinnerOfADuelAndNotTheSmallestTime) {
  std::vector<Record> records = {record_of("t", point("1"), 100),
                                 lost(record_of("t", point("8"), 99), point("1")),
                                 record_of("t", point("4"), 120)};
  std::ranges::sort(records, {}, [](const Record& record) { return print(record); });
  do {
    EXPECT_EQ(chosen(records), point("1"));
  } while (
      std::ranges::next_permutation(records, {}, [](const Record& r) { return print(r); }).found);
}

TEST(History, UsesNoWinnerThatHasNoTimeOrIsOutsideOfTheSpace) {
  Record failed = record_of("t", point("1"), 100);
  failed.samples_ns.clear(), failed.error = "crash: signal 11";
  EXPECT_EQ(chosen({failed, lost(record_of("t", point("8"), 99), point("1"))}), point("8"));
  EXPECT_EQ(
      chosen({record_of("t", point("3"), 100), lost(record_of("t", point("8"), 99), point("3"))}),
      point("8"));
}

TEST(History, WithoutTransfersHasMissesForOtherTasks) {
  byoc::test::TempFolder folder;
  byoc::test::put(folder.file("t.jsonl"), cat(print(record_of("t", point("8"), 10)), "\n",
                                              print(record_of("t", point("4"), 20)), "\n"));
  const std::string paths[] = {folder.file("t.jsonl")}, llvm = "llvm";
  auto with = History::load(paths);
  auto without = History::load(paths, nullptr, {.has_transfers = false});
  ASSERT_TRUE(with.ok() && without.ok());
  const Space other = space_of("u");
  EXPECT_EQ((*with)->find({llvm, other, kHere, 1}).origin, Origin::kTransfer);
  EXPECT_EQ((*without)->find({llvm, other, kHere, 1}).origin, Origin::kMiss);
  EXPECT_EQ((*without)->find({llvm, space_of("t"), kHere, 2}).origin, Origin::kCompatible);
}

TEST(Log, KeepsTheChoiceWhenItIsCompacted) {
  byoc::test::TempFolder folder;
  const std::string path = folder.file("t.jsonl");
  std::vector<Record> records;
  for (int k = 0; k < 20; ++k) records.push_back(record_of("t", {{"tile", cat(k)}}, 100 + k));
  // 0 to 4 lost in a row, each to the next one, and 4 to the slow 15.
  for (int k = 0; k < 4; ++k) records[k].lost_to = {{"tile", cat(k + 1)}};
  records[4].lost_to = {{"tile", "15"}};
  Space space = space_of("t");
  space.knobs = {{"tile", {}}};
  for (int k = 0; k < 20; ++k) space.knobs[0].values.push_back(cat(k));
  auto log = LogWriter::open(path);
  ASSERT_TRUE(log.ok());
  for (const Record& record : records) ASSERT_TRUE(log->append(record).ok());
  const std::string paths[] = {path}, llvm = "llvm";
  auto choice = [&] { return (*History::load(paths))->find({llvm, space, kHere, 1}).point; };
  EXPECT_EQ(choice(), (Point{{"tile", "15"}}));
  ASSERT_TRUE(compact_log(path, 1).ok());
  EXPECT_EQ(choice(), (Point{{"tile", "15"}}));
}

}  // namespace
}  // namespace byoc::tune
