// SPDX-License-Identifier: Apache-2.0
// Which record a history chooses.
#include "byoc/tune/history.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "byoc/te/target.h"
#include "records.h"
#include "support/temp_folder.h"

namespace byoc::tune {
namespace {

using byoc::test::put;
using byoc::test::TempFolder;
using test::kHere;
using test::point;
using test::record_of;
using test::space_of;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string kLlvm = "llvm";
// Machines with fewer and with more features than kHere.
const std::string kOlder = R"({"arch":"x86_64","cpu":"x86-64-v2","features":["avx"],)"
                           R"("vector_bits":128,"vector_registers":16,"l1_bytes":1,"l2_bytes":1})";
const std::string kNewer =
    R"({"arch":"x86_64","cpu":"x86-64-v4","features":["avx","avx2","avx512f","fma"],)"
    R"("vector_bits":512,"vector_registers":32,"l1_bytes":1,"l2_bytes":1})";

Choice find(const std::vector<Record>& records, const Space& space, uint32_t threads = 1,
            const std::string& target = kHere) {
  return History::of(records)->find({kLlvm, space, target, threads});
}

Record on(const std::string& target, Record record) {
  record.target = target;
  return record;
}
Record with_threads(uint32_t threads, Record record) {
  record.threads = threads;
  return record;
}
Record with_flops(double flops, Record record) {
  record.flops = flops, record.bytes = 2 * flops;
  return record;
}

TEST(History, HasNamesOfOrigins) {
  EXPECT_EQ(name_of(Origin::kExact), "exact");
  EXPECT_EQ(name_of(Origin::kCompatible), "compatible");
  EXPECT_EQ(name_of(Origin::kTransfer), "transfer");
  EXPECT_EQ(name_of(Origin::kMiss), "miss");
}

TEST(History, ChoosesTheSmallestTime) {
  const Choice choice = find({record_of("t", point("1"), 30), record_of("t", point("8"), 10),
                              record_of("t", point("2"), 20)},
                             space_of("t"));
  EXPECT_EQ(choice.origin, Origin::kExact);
  EXPECT_EQ(choice.point, point("8"));
  EXPECT_EQ(choice.best_ns, 10);
  EXPECT_EQ(choice.log, "memory");
}

TEST(History, WithoutRecordsIsAMiss) {
  const Choice choice = find({}, space_of("t"));
  EXPECT_EQ(choice.origin, Origin::kMiss);
  EXPECT_TRUE(choice.point.empty());
  EXPECT_EQ(History::of({})->size(), 0u);
}

TEST(History, UsesNoRecordWithAnError) {
  Record bad = record_of("t", point("8"), 1);
  bad.error = "wrong: max error 3";
  EXPECT_EQ(find({bad}, space_of("t")).origin, Origin::kMiss);
  EXPECT_EQ(find({bad, record_of("t", point("1"), 9)}, space_of("t")).point, point("1"));
  EXPECT_EQ(History::of({bad})->size(), 0u);
}

TEST(History, UsesNoPointOutsideOfTheSpace) {
  const Choice choice = find({record_of("t", {{"tile", "3"}, {"unroll", "1"}}, 1),
                              record_of("t", {{"tile", "1"}}, 2), record_of("t", point("4"), 3)},
                             space_of("t"));
  EXPECT_EQ(choice.origin, Origin::kExact);
  EXPECT_EQ(choice.point, point("4"));
}

TEST(History, UsesNoRecordOfAnotherPlugin) {
  Record other = record_of("t", point("8"), 1);
  other.plugin = "json";
  EXPECT_EQ(find({other}, space_of("t")).origin, Origin::kMiss);
}

TEST(History, BreaksTiesByTheTextOfThePoint) {
  std::vector<Record> records = {record_of("t", point("8"), 7), record_of("t", point("2"), 7),
                                 record_of("t", point("4"), 7)};
  std::ranges::sort(records, {}, [](const Record& r) { return r.point; });
  do {
    EXPECT_EQ(find(records, space_of("t")).point, point("2"));
  } while (
      std::ranges::next_permutation(records, {}, [](const Record& r) { return r.point; }).found);
}

TEST(History, PrefersAnExactRecordToAFasterCompatibleOne) {
  const std::vector<Record> records = {record_of("t", point("1"), 100),
                                       with_threads(2, record_of("t", point("2"), 10)),
                                       on(kOlder, record_of("t", point("4"), 1))};
  EXPECT_EQ(find(records, space_of("t")).point, point("1"));
  const Choice two = find(records, space_of("t"), 2);
  EXPECT_EQ(two.origin, Origin::kExact);
  EXPECT_EQ(two.point, point("2"));
}

TEST(History, PrefersTheNearestNumberOfThreadsThenAnotherTarget) {
  const std::vector<Record> records = {with_threads(2, record_of("t", point("1"), 100)),
                                       with_threads(16, record_of("t", point("2"), 10)),
                                       on(kOlder, with_threads(4, record_of("t", point("4"), 1)))};
  const Choice choice = find(records, space_of("t"), 4);
  EXPECT_EQ(choice.origin, Origin::kCompatible);
  EXPECT_EQ(choice.point, point("1"));
  EXPECT_EQ(choice.best_ns, 100);
}

TEST(History, UsesRecordsOfTargetsWhoseFeaturesThisOneHas) {
  const Choice choice = find({on(kOlder, record_of("t", point("4"), 1))}, space_of("t"));
  EXPECT_EQ(choice.origin, Origin::kCompatible);
  EXPECT_EQ(choice.point, point("4"));
  EXPECT_EQ(find({on(kNewer, record_of("t", point("4"), 1))}, space_of("t")).origin, Origin::kMiss);
  EXPECT_EQ(
      find({on(*record_target("aarch64"), record_of("t", point("4"), 1))}, space_of("t")).origin,
      Origin::kMiss);
  EXPECT_EQ(find({on("no target", record_of("t", point("4"), 1))}, space_of("t")).origin,
            Origin::kMiss);
}

// A task with the first guess of space_of, tile 4, at 100 ns, and another point.
std::vector<Record> beside_the_guess(const std::string& task, double flops, Point at, double ns) {
  return {with_flops(flops, record_of(task, point("4"), 100)),
          with_flops(flops, record_of(task, std::move(at), ns))};
}
std::vector<Record> operator+(std::vector<Record> a, const std::vector<Record>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(History, TransfersThePointThatBeatTheFirstGuessInASimilarTask) {
  const Choice choice = find(beside_the_guess("near", 800, point("8"), 80), space_of("t", 1000));
  EXPECT_EQ(choice.origin, Origin::kTransfer);
  EXPECT_EQ(choice.point, point("8"));
  EXPECT_EQ(choice.best_ns, 100) << "scaled by the flops";
}

TEST(History, TransfersThePointWithTheLargestGain) {
  const auto records = beside_the_guess("a", 1000, point("8"), 80) +
                       beside_the_guess("b", 1001, point("2"), 70) +
                       beside_the_guess("c", 1002, point("1"), 75);
  EXPECT_EQ(find(records, space_of("t")).point, point("2"));
}

// ResNet-18 was 1.6 times slower with points of other convolutions than with the first guesses.
TEST(History, TransfersNothingWithoutATimeOfTheFirstGuess) {
  EXPECT_EQ(find({record_of("near", point("8"), 1)}, space_of("t")).origin, Origin::kMiss);
}

TEST(History, TransfersNoPointThatIsNotClearlyFasterThanTheFirstGuess) {
  const Space space = space_of("t");
  EXPECT_EQ(find(beside_the_guess("near", 1000, point("8"), 96), space).origin, Origin::kMiss);
  EXPECT_EQ(find(beside_the_guess("near", 1000, point("8"), 94), space).point, point("8"));
}

TEST(History, TransfersNoPointThatIsSlowerInAnotherSimilarTask) {
  const auto records = beside_the_guess("a", 1000, point("8"), 50) +
                       beside_the_guess("b", 1000, point("8"), 101) +
                       beside_the_guess("c", 1000, point("2"), 90);
  EXPECT_EQ(find(records, space_of("t")).point, point("2"));
}

TEST(History, TransfersNoPointOfATaskWithOtherWorkThreadsOrTarget) {
  const Space space = space_of("t", 1000);
  EXPECT_EQ(find(beside_the_guess("near", 1500, point("8"), 50), space).origin, Origin::kTransfer);
  EXPECT_EQ(find(beside_the_guess("far", 1501, point("8"), 50), space).origin, Origin::kMiss);
  EXPECT_EQ(find(beside_the_guess("far", 660, point("8"), 50), space).origin, Origin::kMiss);
  const auto records = beside_the_guess("near", 1000, point("8"), 50);
  EXPECT_EQ(find(records, space, 2).origin, Origin::kMiss);
  EXPECT_EQ(find(records, space, 1, kNewer).origin, Origin::kMiss);
}

TEST(History, TransfersNoPointThatLostADuel) {
  auto records = beside_the_guess("near", 1000, point("8"), 50);
  records[1].lost_to = point("4");
  EXPECT_EQ(find(records, space_of("t")).origin, Origin::kMiss);
}

TEST(History, TransfersNoPointThatDoesNotFitOrIsOfAnotherKind) {
  Space space = space_of("t");
  space.knobs[0].values = {"1", "2", "4"};
  const auto records =
      beside_the_guess("a", 1000, point("8"), 50) + beside_the_guess("b", 1000, point("2"), 80);
  EXPECT_EQ(find(records, space).point, point("2"));
  space.kind = "pool";
  EXPECT_EQ(find(records, space).origin, Origin::kMiss);
}

TEST(History, TransfersNoOtherComputeAndNothingWhereComputesHaveCosts) {
  Space space = space_of("t");
  space.knobs = {{"compute", {"direct", "winograd"}}, {"tile", {"1", "2"}}};
  auto at = [](const char* compute, const char* tile) {
    return Point{{"compute", compute}, {"tile", tile}};
  };
  space.guesses = {at("direct", "1")};
  const std::vector<Record> records = {record_of("near", at("direct", "1"), 100),
                                       record_of("near", at("direct", "2"), 80),
                                       record_of("near", at("winograd", "2"), 40)};
  EXPECT_EQ(find(records, space).point, at("direct", "2"));
  space.cost_ns = {{"compute", {{"direct", 100}, {"winograd", 50}}}};
  EXPECT_EQ(find(records, space).origin, Origin::kMiss);
}

TEST(History, TransfersFromWorkWithoutFlopsByBytes) {
  Space space = space_of("t", 0);
  space.bytes = 100;
  auto records = beside_the_guess("copy", 0, point("2"), 40);
  for (Record& record : records) record.bytes = 80;
  EXPECT_EQ(find(records, space).best_ns, 50);
}

TEST(History, ComparesTheTextOfTheTaskAndNotItsKeyAlone) {
  // of() computes the keys again
  const auto records = beside_the_guess("another", 1000, point("8"), 1);
  EXPECT_EQ(find(records, space_of("t")).origin, Origin::kTransfer);
}

TEST(History, FindsTheSameInAnyOrderOfLogsAndLines) {
  std::mt19937 random(7);
  std::vector<Record> records;
  for (int k = 0; k < 200; ++k) {
    Record record = record_of(cat("task ", random() % 5), point(cat(1 << random() % 4)),
                              static_cast<double>(random() % 7));
    record.target = std::vector{kHere, kOlder, kNewer}[random() % 3];
    record.threads = 1 + random() % 3;
    records.push_back(with_flops(static_cast<double>(100 + random() % 3), record));
  }
  TempFolder folder;
  const std::vector<std::string> paths = {folder.file("a"), folder.file("b"), folder.file("c")};
  auto choices = [&](const std::vector<std::string>& order) {
    std::vector<std::string> out;
    auto history = History::load(order);
    EXPECT_TRUE(history.ok()) << history.status().to_string();
    for (int task = 0; task < 7; ++task) {
      for (uint32_t threads = 1; threads < 5; ++threads) {
        const Choice c = (*history)->find({kLlvm, space_of(cat("task ", task)), kHere, threads});
        out.push_back(cat(name_of(c.origin), print(c.point), c.best_ns));
      }
    }
    return out;
  };
  std::vector<std::string> expected;
  for (int round = 0; round < 10; ++round) {
    std::ranges::shuffle(records, random);
    std::string lines[2];
    for (size_t k = 0; k < records.size(); ++k) lines[k % 2] += print(records[k]) + "\n";
    put(paths[0], lines[0]);
    put(paths[1], lines[1]);
    put(paths[2], lines[1] + lines[0]);  // concatenated
    if (round == 0) expected = choices({paths[0], paths[1]});
    EXPECT_EQ(choices({paths[0], paths[1]}), expected);
    EXPECT_EQ(choices({paths[1], paths[0]}), expected);
    EXPECT_EQ(choices({paths[2]}), expected);
    EXPECT_EQ(choices({paths[2], paths[0]}), expected) << "a line twice has no effect";
  }
}

TEST(History, NotesSkippedLines) {
  TempFolder folder;
  put(folder.file("a"), print(record_of("t", point("4"), 1)) + "\n{\"v\":2}\n{\"v\":1,\"ta");
  put(folder.file("b"), print(record_of("t", point("8"), 2)) + "\n");
  std::vector<std::string> notes;
  const std::vector<std::string> paths = {folder.file("a"), folder.file("b")};
  auto history = History::load(paths, &notes);
  ASSERT_TRUE(history.ok());
  EXPECT_EQ((*history)->size(), 2u);
  EXPECT_THAT(notes,
              ElementsAre(paths[0] + ": skipped 1 records of other versions and an incomplete last "
                                     "line"));
  const Choice choice = (*history)->find({kLlvm, space_of("t"), kHere, 1});
  EXPECT_EQ(choice.log, paths[0]);
}

TEST(History, OfADamagedLogIsAnError) {
  TempFolder folder;
  put(folder.file("a"), "{}\n");
  const std::vector<std::string> paths = {folder.file("a")};
  EXPECT_EQ(History::load(paths).status().code(), Code::kDataLoss);
  const std::vector<std::string> none = {folder.file("none")};
  EXPECT_EQ(History::load(none).status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace byoc::tune
