// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "byoc/tune/history.h"
#include "records.h"

namespace byoc::tune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ApplyHistoryBest, NestsWithTheInnermostFirst) {
  auto outer = History::of({}), inner = History::of({});
  EXPECT_THAT(ApplyHistoryBest::active(), IsEmpty());
  {
    ApplyHistoryBest a(outer);
    EXPECT_THAT(ApplyHistoryBest::active(), ElementsAre(outer));
    {
      ApplyHistoryBest b(inner);
      EXPECT_THAT(ApplyHistoryBest::active(), ElementsAre(inner, outer));
    }
    EXPECT_THAT(ApplyHistoryBest::active(), ElementsAre(outer));
  }
  EXPECT_THAT(ApplyHistoryBest::active(), IsEmpty());
}

TEST(ApplyHistoryBest, BelongsToItsThread) {
  ApplyHistoryBest scope(History::of({}));
  std::thread([] {
    EXPECT_THAT(ApplyHistoryBest::active(), IsEmpty());
    auto mine = History::of({});
    ApplyHistoryBest other(mine);
    EXPECT_THAT(ApplyHistoryBest::active(), ElementsAre(mine));
  }).join();
  EXPECT_EQ(ApplyHistoryBest::active().size(), 1u);
}

HistoryReport::Entry entry(Origin origin, double weight) {
  static std::atomic<int> number = 0;
  return {cat("f", ++number), "llvm", "conv", {origin, {}, 1, "log"}, weight};
}

TEST(HistoryReport, SummarisesByWeight) {
  HistoryReport report;
  for (int k = 0; k < 11; ++k) report.add(entry(Origin::kExact, 80));
  report.add(entry(Origin::kCompatible, 61));
  report.add(entry(Origin::kTransfer, 20));
  for (int k = 0; k < 3; ++k) report.add(entry(Origin::kMiss, 13));
  EXPECT_EQ(report.summary(),
            "12 hits (94.1 % of the weight), 1 transfer (2.0 % of the weight), 3 misses (3.9 % of "
            "the weight)");
  EXPECT_EQ(report.entries().size(), 16u);
}

TEST(HistoryReport, LeavesOutPartsWithoutFunctions) {
  HistoryReport report;
  EXPECT_EQ(report.summary(), "no function has a choice");
  report.add(entry(Origin::kExact, 3));
  EXPECT_EQ(report.summary(), "1 hit (100.0 % of the weight)");
  HistoryReport missed;
  missed.add(entry(Origin::kMiss, 3));
  EXPECT_EQ(missed.summary(), "0 hits (0.0 % of the weight), 1 miss (100.0 % of the weight)");
}

TEST(HistoryReport, HasOneEntryPerFunction) {
  HistoryReport report;
  HistoryReport::Entry first = entry(Origin::kMiss, 3), again = first;
  report.add(first);
  again.choice.origin = Origin::kExact;
  report.add(again);
  EXPECT_EQ(report.summary(), "1 hit (100.0 % of the weight)");
  again.plugin = "json";
  report.add(again);
  EXPECT_EQ(report.entries().size(), 2u);
}

TEST(HistoryReport, MayBeFilledByManyThreads) {
  HistoryReport report;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int k = 0; k < 250; ++k) report.add(entry(Origin::kMiss, 1));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(report.entries().size(), 1000u);
}

}  // namespace
}  // namespace byoc::tune
