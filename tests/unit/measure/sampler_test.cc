// SPDX-License-Identifier: Apache-2.0
// Kernels take the time of a clock of the test, so that other work on the machine changes nothing.
#include "core/measure/sampler.h"

#include <gtest/gtest.h>

#include <limits>

namespace byoc::measure {
namespace {

/// A clock that kernels of the test move on. Each look at it takes 20 ns, as at the real one.
class Time {
 public:
  /// Returns a sampler that is calibrated for a kernel of so many ns.
  Sampler kernel(double ns, SamplerOptions options = {}) {
    options.clock.wall_ns = options.clock.thread_ns = [this] { return now_ns_ += 20; };
    Sampler sampler([this, ns] { return now_ns_ += ns, Status(); }, options);
    EXPECT_TRUE(sampler.calibrate().ok());
    return sampler;
  }

 private:
  double now_ns_ = 1e9;
};

TEST(Sampler, RepeatsShortKernels) {
  Time time;
  Sampler sampler = time.kernel(1000);
  auto ns = sampler.sample();
  ASSERT_TRUE(ns.ok());
  EXPECT_NEAR(*ns, 1000, 1);
  const double sample_ns = *ns * static_cast<double>(sampler.runs_per_sample());
  EXPECT_GE(sample_ns, 0.45e6);
  EXPECT_LT(sample_ns, 0.5e6);
}

TEST(Sampler, RunsLongKernelsOnce) {
  Time time;
  EXPECT_EQ(time.kernel(0.46e6).runs_per_sample(), 1U);
  EXPECT_EQ(time.kernel(0.3e6).runs_per_sample(), 2U);
}

TEST(Sampler, RunsColdKernelsOnce) {
  Time time;
  EXPECT_EQ(time.kernel(10, {.is_cold = true}).runs_per_sample(), 1U);
}

TEST(Sampler, ReturnsTheErrorOfARun) {
  Sampler sampler([] { return failed("it fails"); }, {});
  EXPECT_EQ(sampler.calibrate().message(), "it fails");
}

TEST(Sampler, BeatsDuringLongWork) {
  Time time;
  int beats = 0;
  Sampler sampler = time.kernel(0.2e9, {.beat = [&] { ++beats; }});
  EXPECT_EQ(beats, 1);
  ASSERT_TRUE(sampler.sample().ok());
  EXPECT_EQ(beats, 2);
}

// The time of the thread counts: another process makes the wall's longer.
TEST(Sampler, CountsTheTimeOfTheThread) {
  double ran_ns = 0, wall_ns = 0;
  auto run = [&] { return ran_ns += 1e6, wall_ns += 3e6, Status(); };
  for (bool counts_thread_time : {true, false}) {
    Sampler sampler(run, {.counts_thread_time = counts_thread_time,
                          .clock = {[&] { return wall_ns; }, [&] { return ran_ns; }}});
    ASSERT_TRUE(sampler.calibrate().ok());
    EXPECT_EQ(*sampler.sample(), counts_thread_time ? 1e6 : 3e6);
  }
}

TEST(Clock, HasTheClocksOfTheSystem) {
  const double wall = real_wall_ns(), thread = real_thread_ns();
  volatile uint64_t step = 0;
  while (step < 100'000) step = step + 1;
  EXPECT_GT(real_wall_ns(), wall);
  EXPECT_GT(real_thread_ns(), thread);
}

TEST(SampleUntilClear, TakesMoreSamplesTheBetterItIs) {
  Time time;
  Sampler sampler = time.kernel(20'000);
  auto first = sample_until_clear(sampler, std::numeric_limits<double>::infinity());
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->size(), 30U);
  EXPECT_EQ(sample_until_clear(sampler, 20'000 / 1.3)->size(), 3U);
  EXPECT_EQ(sample_until_clear(sampler, 20'000 / 1.1)->size(), 10U);
  EXPECT_EQ(sample_until_clear(sampler, 20'000)->size(), 30U);
}

TEST(SampleUntilClear, EndsAfterASecond) {
  Time time;
  Sampler sampler = time.kernel(0.3e9);
  EXPECT_EQ(sample_until_clear(sampler, 1e12)->size(), 4U);
}

TEST(SampleUntilClear, TakesOneSampleOfALongRunInLittleTime) {
  Time time;
  Sampler sampler = time.kernel(0.3e9);
  EXPECT_EQ(sample_until_clear(sampler, 1e12, 2e7)->size(), 1U);
}

TEST(Duel, SeesWhichOneIsFaster) {
  Time time;
  Sampler slow = time.kernel(40'000), fast = time.kernel(20'000);
  auto won = duel(slow, fast), lost = duel(fast, slow);
  ASSERT_TRUE(won.ok() && lost.ok());
  EXPECT_NEAR(won->gain, 2, 0.01);
  EXPECT_NEAR(lost->gain, 0.5, 0.01);
  EXPECT_EQ(won->a_ns.size(), won->b_ns.size());
}

TEST(Duel, SeesNoGainBetweenEqualKernels) {
  Time time;
  Sampler a = time.kernel(20'000), b = time.kernel(20'000);
  auto even = duel(a, b);
  ASSERT_TRUE(even.ok());
  EXPECT_NEAR(even->gain, 1, 0.01);
}

// 4096 floats: at least a cycle per 64 of them, and at most a microsecond each.
TEST(ReferenceLoop, IsTheTimeOfOnePass) {
  EXPECT_GT(reference_loop_ns(), 4096.0 / 64 / 10);
  EXPECT_LT(reference_loop_ns(), 4096 * 1e3);
}

}  // namespace
}  // namespace byoc::measure
