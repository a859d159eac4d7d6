// SPDX-License-Identifier: Apache-2.0
// One subject, measured as `byoc tune`, `place` and `bench` do, on a machine that other work slows
// down half of the time. The clock is one of the test.
#include <gtest/gtest.h>

#include <cmath>

#include "core/measure/sampler.h"
#include "core/measure/turns.h"

namespace byoc::measure {
namespace {

constexpr double kRunNs = 20'000;

/// A machine on which a run takes kRunNs, and twice as long in every second period of 7 ms.
class Machine {
 public:
  Clock clock() {
    auto now = [this] { return now_ns_ += 20; };
    return {now, now};
  }
  Status run() {
    constexpr double kPeriodNs = 7e6;
    const bool is_busy = static_cast<int64_t>(now_ns_ / kPeriodNs) % 2 == 1;
    now_ns_ += is_busy ? 2 * kRunNs : kRunNs;
    return {};
  }

 private:
  double now_ns_ = 1e9;
};

/// Returns the time of a point of `byoc tune`, or of a candidate of `byoc place`.
double time_alone() {
  Machine machine;
  Sampler sampler([&] { return machine.run(); }, {.clock = machine.clock()});
  EXPECT_TRUE(sampler.calibrate().ok());
  auto samples = sample_until_clear(sampler, std::numeric_limits<double>::infinity());
  return samples.ok() ? time_of(*samples) : 0;
}

/// Returns the samples of `byoc bench`, or of a whole program of `byoc place`.
Samples samples_in_turns(double min_time_s, uint32_t rounds) {
  Machine machine;
  Samples out;
  const Subject subject{.run = [&] { return machine.run(); }, .samples = &out};
  const TimingPlan plan{
      .warmup_s = 0.01, .min_time_s = min_time_s, .rounds = rounds, .clock = machine.clock()};
  EXPECT_TRUE(take_turns({&subject, 1}, plan, [](auto, auto, auto) { return true; }).ok());
  return out;
}

TEST(OneStatistic, IsTheSameHoweverARunIsMeasured) {
  EXPECT_NEAR(time_alone(), kRunNs, 25);
  for (double seconds : {0.1, 1.0}) {
    const Samples bench = samples_in_turns(seconds, 5), place = samples_in_turns(seconds, 6);
    EXPECT_NEAR(time_of(bench.ns), kRunNs, 25);
    EXPECT_NEAR(time_of(place.ns), kRunNs, 25);
    EXPECT_NEAR(time_of(bench.ns), time_alone(), 25);
    EXPECT_GT(spread_of(bench.ns).p95, 1.9 * kRunNs) << "the machine was busy";
  }
}

TEST(OneStatistic, IsTheMeanOfTheFastestEighth) {
  EXPECT_EQ(time_of(std::vector<double>{3, 2, 5}), 2);
  EXPECT_EQ(time_of(std::vector<double>{8, 7, 6, 5, 4, 3, 2, 1}), 1);
  EXPECT_EQ(time_of(std::vector<double>{9, 8, 7, 6, 5, 4, 3, 2, 1}), 1.5);
  EXPECT_TRUE(std::isinf(time_of({})));
}

// A duel and the ratio of `byoc bench --vs` are one computation on blocks of turns.
TEST(OneStatistic, OfADuelIsTheRatioOfItsBlocks) {
  double now_ns = 1e9;
  const Clock clock{[&] { return now_ns += 20; }, [&] { return now_ns += 20; }};
  Sampler a([&] { return now_ns += 40'000, Status(); }, {.clock = clock});
  Sampler b([&] { return now_ns += 20'000, Status(); }, {.clock = clock});
  ASSERT_TRUE(a.calibrate().ok() && b.calibrate().ok());
  auto result = duel(a, b);
  ASSERT_TRUE(result.ok());
  EXPECT_NEAR(result->gain, ratio_of(result->b_ns, result->a_ns).ratio, 1e-9);
  EXPECT_NEAR(result->gain, 2, 0.01);
}

}  // namespace
}  // namespace byoc::measure
