// SPDX-License-Identifier: Apache-2.0
// The usual estimate of plugins: the larger of arithmetic and memory.
#include <gtest/gtest.h>

#include "byoc/plugin/sdk.h"

namespace byoc::sdk {
namespace {

// Two caches of 1000 and 10,000 bytes per core, then the memory.
class Estimates : public testing::Test {
 protected:
  Machine machine(uint32_t threads) {
    raw_.h = {sizeof raw_, BYOC_TAG_MACHINE, nullptr};
    raw_.threads = threads, raw_.n_levels = 3, raw_.levels = levels_;
    raw_.f32 = {100, 100.0 * threads}, raw_.i8 = {400, 400.0 * threads};
    raw_.loop_ns = threads > 1 ? 50 : 0;
    return Machine(raw_);
  }
  byoc_machine_level levels_[3] = {{1000, 1, {20, 40}, {20, 40}},
                                   {10'000, 1, {10, 20}, {10, 20}},
                                   {UINT64_MAX, 2, {2, 3}, {2, 3}}};
  byoc_machine raw_{};
};

TEST_F(Estimates, AreOfArithmeticOrOfMemory) {
  const Machine one = machine(1);
  EXPECT_DOUBLE_EQ(one.run_ns({10'000, 500}), 100);     // 10,000 / 100
  EXPECT_DOUBLE_EQ(one.run_ns({100, 500}), 25);         // 500 / 20
  EXPECT_DOUBLE_EQ(one.run_ns({100, 5000}), 450);       // 1000 / 20 + 4000 / 10
  EXPECT_DOUBLE_EQ(one.run_ns({100, 50'000}), 20'950);  // 50 + 9000 / 10 + 40,000 / 2
  EXPECT_DOUBLE_EQ(one.run_ns({0, 0}), 0);
}

TEST_F(Estimates, UseTheSharesOfAKernel) {
  const Machine one = machine(1);
  EXPECT_DOUBLE_EQ(one.run_ns({10'000, 500}, {0.5, 1}), 200);
  EXPECT_DOUBLE_EQ(one.run_ns({100, 500}, {1, 0.25}), 100);
  EXPECT_DOUBLE_EQ(one.run_ns({10'000, 0}, {}, one.raw().i8), 25);
}

TEST_F(Estimates, UseAllWorkersWhereThatIsFaster) {
  const Machine two = machine(2);
  EXPECT_DOUBLE_EQ(two.run_ns({100'000, 0}), 550);  // 100,000 / 200, and the loop
  EXPECT_DOUBLE_EQ(two.run_ns({5000, 0}), 50);      // on one worker, without a loop
  EXPECT_DOUBLE_EQ(two.run_ns({0, 20'000}), 1000);  // 2000 / 40 + 18,000 / 20, and the loop
}

TEST(Estimate, IsNeverNone) {
  EXPECT_EQ(est_ns(0), 1u);
  EXPECT_EQ(est_ns(12.7), 12u);
  EXPECT_EQ(est_ns(1e300), uint64_t{1'000'000'000'000'000'000});
}

}  // namespace
}  // namespace byoc::sdk
