// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/measure/clock.h"

#include <gtest/gtest.h>

#include <limits>

namespace byoc::tune {
namespace {

/// Returns a kernel of so many steps.
std::function<Status()> steps(uint64_t count) {
  return [count] {
    volatile uint64_t step = 0;
    while (step < count) step = step + 1;
    return Status();
  };
}

KernelClock clock_of(std::function<Status()> run, ClockOptions options = {}) {
  KernelClock clock(std::move(run), std::move(options));
  EXPECT_TRUE(clock.calibrate().ok());
  return clock;
}

TEST(KernelClock, RepeatsShortKernels) {
  KernelClock clock = clock_of(steps(1000));
  auto ns = clock.sample();
  ASSERT_TRUE(ns.ok());
  const double sample_ns = *ns * static_cast<double>(clock.runs_per_sample());
  EXPECT_GT(sample_ns, 0.2e6);
  EXPECT_LT(sample_ns, 4e6) << "0.4 to 1 ms on a quiet machine";
}

TEST(KernelClock, RunsLongKernelsOnce) {
  EXPECT_EQ(clock_of(steps(5'000'000)).runs_per_sample(), 1U);
}

TEST(KernelClock, RunsColdKernelsOnce) {
  EXPECT_EQ(clock_of(steps(10), {.is_cold = true}).runs_per_sample(), 1U);
}

TEST(KernelClock, ReturnsTheErrorOfARun) {
  KernelClock clock([] { return failed("it fails"); }, {});
  EXPECT_EQ(clock.calibrate().message(), "it fails");
}

TEST(KernelClock, BeatsDuringLongWork) {
  int beats = 0;
  KernelClock clock = clock_of(steps(400'000'000), {.beat = [&] { ++beats; }});
  ASSERT_TRUE(clock.sample().ok());
  EXPECT_GE(beats, 1);
}

TEST(SampleUntilClear, TakesMoreSamplesTheBetterItIs) {
  KernelClock clock = clock_of(steps(20'000));
  auto first = sample_until_clear(clock, std::numeric_limits<double>::infinity());
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->size(), 30U);
  const double best = *std::min_element(first->begin(), first->end());
  EXPECT_EQ(sample_until_clear(clock, best / 3)->size(), 3U);
  EXPECT_EQ(sample_until_clear(clock, best * 2)->size(), 30U);
}

TEST(Duel, SeesWhichOneIsFaster) {
  KernelClock slow = clock_of(steps(40'000)), fast = clock_of(steps(20'000));
  auto won = duel(slow, fast), lost = duel(fast, slow);
  ASSERT_TRUE(won.ok() && lost.ok());
  EXPECT_NEAR(won->gain, 2, 0.5);
  EXPECT_NEAR(lost->gain, 0.5, 0.12);
  EXPECT_EQ(won->a_ns.size(), won->b_ns.size());
}

TEST(Duel, SeesNoGainBetweenEqualKernels) {
  KernelClock a = clock_of(steps(20'000)), b = clock_of(steps(20'000));
  auto even = duel(a, b);
  ASSERT_TRUE(even.ok());
  EXPECT_NEAR(even->gain, 1, 0.1);
}

TEST(ReferenceLoop, IsRepeatable) {
  const double first = reference_loop_ns();
  EXPECT_NEAR(reference_loop_ns() / first, 1, 0.3);
}

}  // namespace
}  // namespace byoc::tune
