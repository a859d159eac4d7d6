// SPDX-License-Identifier: Apache-2.0
// Counts of the work that workers share, against loops whose counts are computed by hand.
#include "plugins/llvm/analysis/shared_work.h"

#include <gtest/gtest.h>

#include <cmath>

#include "byoc/base/check.h"
#include "byoc/te/text.h"

namespace byoc::llvm_plugin {
namespace {

constexpr WorkUnits kUnits{32};  // vectors of 8 f32

/// Returns rows * 2, each row of 256 elements as 32 vectors: a load, a product and a store.
te::LoopFunction doubled_rows(int rows, const std::string& before = "",
                              const std::string& after = "") {
  const std::string dims = cat("f32[", rows, ",256]");
  auto loops = te::parse_loops(cat("loops f(x: ", dims, ") -> (y: ", dims, ") {\n", before,
                                   "parallel i in 0..", rows,
                                   " { for j in 0..32 { vectorized k in 0..8 {\n"
                                   "y[i, j * 8 + k] = x[i, j * 8 + k] * 2.0\n} } }\n",
                                   after, "}"));
  EXPECT_TRUE(loops.ok()) << loops.status().to_string();
  return *std::move(loops);
}
constexpr double kPerRow = 3 * 32;

TEST(SharedWork, OfALongLoopIsTheSameForEachWorker) {
  const SharedWork work = shared_work(doubled_rows(4096), 4, kUnits);
  EXPECT_DOUBLE_EQ(work.units, 4096 * kPerRow);
  EXPECT_DOUBLE_EQ(work.serial, 0);
  EXPECT_DOUBLE_EQ(work.busiest, 1024 * kPerRow);
  EXPECT_DOUBLE_EQ(work.barriers, 1);
  EXPECT_DOUBLE_EQ(work.bytes, 2 * 1024 * 256 * 4) << "its rows of x and of y";
}

TEST(SharedWork, OfMoreWorkersThanPayIsForFewer) {
  const double cycles = 4096 * kPerRow / WorkUnits::kPerCycle;
  const double workers = std::floor(std::sqrt(cycles / kSharedLoopWorkerCycles));
  ASSERT_EQ(workers, 18) << "each further one costs more than it saves";
  const SharedWork work = shared_work(doubled_rows(4096), 64, kUnits);
  EXPECT_DOUBLE_EQ(work.busiest, std::ceil(4096 / workers) * kPerRow);
}

TEST(SharedWork, OfAShortLoopIsForOneWorker) {
  const SharedWork work = shared_work(doubled_rows(64), 64, kUnits);
  EXPECT_DOUBLE_EQ(work.serial, 64 * kPerRow);
  EXPECT_DOUBLE_EQ(work.busiest, 0);
  EXPECT_DOUBLE_EQ(work.barriers, 0);
}

TEST(SharedWork, InASerialLoopIsSharedEachTime) {
  const SharedWork work = shared_work(doubled_rows(4096, "for t in 0..10 {\n", "}"), 4, kUnits);
  EXPECT_DOUBLE_EQ(work.barriers, 10);
  EXPECT_DOUBLE_EQ(work.units, 10 * 4096 * kPerRow);
}

TEST(SharedWork, OutsideOfParallelLoopsIsSerial) {
  const SharedWork work =
      shared_work(doubled_rows(4096, "", "for r in 0..7 { y[r, 0] = tanh(x[r, 0]) }\n"), 4, kUnits);
  EXPECT_DOUBLE_EQ(work.serial, 7 * (2 + WorkUnits::kFunction));
  EXPECT_DOUBLE_EQ(work.barriers, 1);
}

TEST(SharedWork, OfFewIterationsHasABusiestWorker) {  // 5 long ones on 4 workers: one has two
  auto loops = te::parse_loops(R"(loops f(x: f32[5,100000]) -> (y: f32[5]) {
  parallel i in 0..5 {
    stack s: f32[1]
    s[0] = 0.0
    for j in 0..100000 { s[0] = s[0] + x[i, j] }
    y[i] = s[0]
  }
})");
  ASSERT_TRUE(loops.ok()) << loops.status().to_string();
  const SharedWork work = shared_work(*loops, 4, kUnits);
  EXPECT_NEAR(work.busiest / work.units, 2.0 / 5, 1e-9);
  EXPECT_DOUBLE_EQ(work.bytes, 4 * (2 * 100000 + 2));
}

TEST(LeastShare, IsTheWholeLoopWhereSharingCostsMore) {
  EXPECT_DOUBLE_EQ(least_share(100, 4, kUnits), 100) << "100 cycles";
  EXPECT_DOUBLE_EQ(least_share(100, 4 * 300, kUnits), 10)
      << "30,000 cycles suffice for ten workers";
  EXPECT_LT(1024 * least_share(1e6, 1e6, kUnits), 1e6)
      << "2.5e11 cycles are worth a thousand workers";
  EXPECT_DOUBLE_EQ(least_share(100, 4, {.shares_all = true}), 1) << "for tests";
}

}  // namespace
}  // namespace byoc::llvm_plugin
