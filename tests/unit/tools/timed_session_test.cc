// SPDX-License-Identifier: Apache-2.0
// Sessions under the clock: other memory for a turn, or for a load, changes no result.
#include "core/measure/session/reload.h"
#include "support/flow.h"

namespace byoc::test {
namespace {

TEST(TimedSession, ComputesTheSameInRenewedMemory) {
  auto plugins = built_plugins();
  BuildOptions options;
  options.plugins = plugins;
  options.compilers = {"json"};
  auto executable = build(parse("fn main(%x: f32[3]) { %0 = relu(%x) return %0 }"), options);
  ASSERT_TRUE(executable.ok()) << executable.status().to_string();
  auto session = Session::load(*std::move(executable), plugins, {});
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  std::vector<Tensor> inputs;
  inputs.push_back(tensor_f32({3}, {-1, 2, -3}));
  auto timed = measure::TimedSession::make(*std::move(session), inputs);
  ASSERT_TRUE(timed.ok()) << timed.status().to_string();
  const void* before = (*timed)->outputs()[0].view().data;
  ASSERT_TRUE((*timed)->renew().ok());
  EXPECT_NE((*timed)->outputs()[0].view().data, before);
  ASSERT_TRUE((*timed)->run().ok());
  EXPECT_EQ(floats((*timed)->outputs()[0]), (std::vector<float>{0, 2, 0}));
}

// Five loads of the plan are the first one and four more; each has its own copy of the weights.
TEST(TimedSession, ComputesTheSameAfterEachLoad) {
  auto plugins = built_plugins();
  BuildOptions options;
  options.plugins = plugins;
  options.compilers = {"json"};
  auto executable = build(parse("fn main(%x: f32[3]) {\n  %w = const([1.0, 2.0, 3.0]) : f32[3]\n"
                                "  %0 = add(%x, %w)\n  return %0\n}"),
                          options);
  ASSERT_TRUE(executable.ok()) << executable.status().to_string();
  auto session = Session::load(*executable, plugins, {});
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  const measure::Reload reload = measure::reload_of(*executable, **session, plugins, {});
  std::vector<Tensor> inputs;
  inputs.push_back(tensor_f32({3}, {-1, 2, -3}));
  auto timed = measure::TimedSession::make(*std::move(session), inputs);
  ASSERT_TRUE(timed.ok()) << timed.status().to_string();
  int loads = 0;
  (*timed)->reload = [&] {
    ++loads;
    return reload();
  };
  measure::TimedSession* all[] = {timed->get()};
  const measure::TimingPlan plan{
      .warmup_s = 0, .min_time_s = 0, .rounds = 10, .loads = 5, .times_steps = false};
  ASSERT_TRUE(measure::time_in_turns(all, plan, [](std::string_view, uint64_t, uint64_t) {
                return true;
              }).ok());
  EXPECT_EQ(loads, 4);
  EXPECT_EQ((*timed)->samples.turns.size(), 10u);
  EXPECT_EQ(floats((*timed)->outputs()[0]), (std::vector<float>{0, 4, 0}));
  const auto& held = (*timed)->session().executable().constants;
  ASSERT_EQ(held.size(), 1u);
  EXPECT_NE(held.begin()->second->data(), executable->constants.begin()->second->data());
}

// Two rounds are a load; the question comes after the four that are planned, and after each load.
TEST(TimedSession, IsMeasuredUntilItIsEnough) {
  auto plugins = built_plugins();
  BuildOptions options;
  options.plugins = plugins;
  options.compilers = {"json"};
  auto executable = build(parse("fn main(%x: f32[3]) { %0 = relu(%x) return %0 }"), options);
  ASSERT_TRUE(executable.ok()) << executable.status().to_string();
  std::vector<Tensor> inputs;
  inputs.push_back(tensor_f32({3}, {-1, 2, -3}));
  for (int enough_at : {1, 3, 100}) {
    auto session = Session::load(*executable, plugins, {});
    ASSERT_TRUE(session.ok()) << session.status().to_string();
    const measure::Reload reload = measure::reload_of(*executable, **session, plugins, {});
    auto timed = measure::TimedSession::make(*std::move(session), inputs);
    ASSERT_TRUE(timed.ok()) << timed.status().to_string();
    (*timed)->reload = reload;
    int asked = 0;
    measure::TimingPlan plan{
        .warmup_s = 0, .min_time_s = 0, .rounds = 4, .loads = 2, .times_steps = false};
    plan.is_enough = [&] { return ++asked == enough_at; };
    plan.most_rounds = 10;
    measure::TimedSession* all[] = {timed->get()};
    uint64_t last = 0, expected = 0;
    ASSERT_TRUE(
        measure::time_in_turns(all, plan, [&](std::string_view, uint64_t done, uint64_t total) {
          last = done, expected = total;
          return true;
        }).ok());
    const size_t rounds = enough_at == 100 ? 10 : 2 + 2 * static_cast<size_t>(enough_at);
    EXPECT_EQ((*timed)->samples.turns.size(), rounds);
    EXPECT_EQ((*timed)->samples.loads.size(), rounds / 2);
    EXPECT_LT(last, expected);
  }
}

}  // namespace
}  // namespace byoc::test
