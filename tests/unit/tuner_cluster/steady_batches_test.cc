// SPDX-License-Identifier: Apache-2.0
// Batches on a machine whose times are given.
#include "core/tuner/batch/steady_batches.h"

#include <gmock/gmock.h>

#include <deque>

namespace byoc::tune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr double kNever = std::numeric_limits<double>::infinity();

Trial trial(int k) { return {0, {{"k", cat(k)}}}; }

/// A machine whose reference loop and points take the times that a test lists.
class Machine {
 public:
  std::deque<double> references;
  std::map<int, std::deque<double>> times;  // of point k, in order; kNever: it fails
  double best = kNever;
  std::vector<std::vector<int>> batches;  // that were measured

  BatchMachine functions() {
    return {[this](std::span<const Trial> trials, const KeepGoing&, const Measurer::Each& each) {
              batches.emplace_back();
              for (size_t k = 0; k < trials.size(); ++k) each(measure(trials[k], k));
              return Status();
            },
            [this](const KeepGoing&) {
              const double out = references.front();
              references.pop_front();
              return Result<double>(out);
            },
            [this](size_t) { return best; }};
  }

 private:
  Measured measure(const Trial& trial, size_t index) {
    const int k = std::stoi(trial.point.at("k"));
    batches.back().push_back(k);
    Measured out{.index = index, .trial = trial};
    const double ns = times[k].front();
    if (times[k].size() > 1) times[k].pop_front();
    if (ns == kNever) out.error = "crash: signal 11";
    else out.samples_ns = {ns + 7, ns, ns + 3}, best = std::min(best, ns);
    return out;
  }
};

bool go_on() { return true; }

TEST(SteadyBatches, MeasureOnceWhenTheSpeedStays) {
  Machine machine;
  machine.references = {300, 302, 299};
  machine.times = {{1, {10}}, {2, {20}}};
  SteadyBatches batches(machine.functions());
  const Trial trials[] = {trial(1), trial(2)};
  for (int k = 0; k < 2; ++k)
    ASSERT_TRUE(
        batches.measure(trials, go_on, [](auto&, bool again) { EXPECT_FALSE(again); }).ok());
  EXPECT_THAT(machine.references, IsEmpty()) << "one before the first batch, one after each";
  EXPECT_EQ(batches.reference_ns(), 299);
  EXPECT_NEAR(batches.drift(), 3.0 / 299, 1e-9);
  for (const auto& batch : machine.batches) {
    if (!batch.empty()) {
      EXPECT_THAT(batch, ElementsAre(1, 2));
    }
  }
}

TEST(SteadyBatches, RepeatWhatMayBeTheBestAfterADrift) {
  Machine machine;
  machine.references = {300, 330};  // 10 % slower
  // The best takes 100: within 20 % of it a point may be better than it seems.
  machine.times = {{1, {100, 110}}, {2, {119, 90}}, {3, {121}}, {4, {kNever}}};
  SteadyBatches batches(machine.functions());
  const Trial trials[] = {trial(1), trial(2), trial(3), trial(4)};
  std::vector<std::pair<int, bool>> seen;
  ASSERT_TRUE(batches
                  .measure(trials, go_on,
                           [&](const Measured& one, bool again) {
                             seen.emplace_back(std::stoi(one.trial.point.at("k")), again);
                           })
                  .ok());
  using Pair = std::pair<int, bool>;
  EXPECT_THAT(seen, ElementsAre(Pair(1, false), Pair(2, false), Pair(3, false), Pair(4, false),
                                Pair(1, true), Pair(2, true)));
  EXPECT_NEAR(batches.drift(), 0.1, 1e-9);
}

TEST(SteadyBatches, RepeatWhenTheMachineBecomesFaster) {
  Machine machine;
  machine.references = {330, 300};
  machine.times = {{1, {100}}};
  SteadyBatches batches(machine.functions());
  const Trial trials[] = {trial(1)};
  int repeats = 0;
  ASSERT_TRUE(batches.measure(trials, go_on, [&](auto&, bool again) { repeats += again; }).ok());
  EXPECT_EQ(repeats, 1);
}

TEST(SteadyBatches, HideARepetitionThatFails) {
  Machine machine;
  machine.references = {300, 330};
  machine.times = {{1, {100, kNever}}};
  SteadyBatches batches(machine.functions());
  const Trial trials[] = {trial(1)};
  size_t calls = 0;
  ASSERT_TRUE(batches.measure(trials, go_on, [&](auto&, bool) { ++calls; }).ok());
  EXPECT_EQ(calls, 1U);
  EXPECT_EQ(machine.batches.back(), std::vector<int>{1});
}

TEST(SteadyBatches, ReturnErrorsOfTheMachine) {
  Machine machine;
  BatchMachine functions = machine.functions();
  functions.reference_ns = [](const KeepGoing&) { return Result<double>(failed("no loop")); };
  SteadyBatches batches(functions);
  EXPECT_EQ(batches.measure({}, go_on, [](auto&, bool) {}).message(), "no loop");
  EXPECT_THAT(machine.batches, IsEmpty());
}

}  // namespace
}  // namespace byoc::tune
