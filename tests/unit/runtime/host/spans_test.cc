// SPDX-License-Identifier: Apache-2.0
// The spans that kernels report while a Context is profiled. The plugin is tests/faults/faulty.c.
// It has two kernels, each of which reports "load" and "store".
#include "runtime/host/spans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "runtime/host/host.h"
#include "support/faults.h"
#include "unit/runtime/executables.h"
#include "unit/runtime/host_functions.h"

namespace byoc {
namespace {

using test::Floats;
using ::testing::ElementsAre;
using ::testing::Pair;

struct Profiled {
  std::unique_ptr<Session> session;
  std::unique_ptr<Context> context;
  const SpanLog& spans() const { return session->spans(*context); }
  bool run(int times = 1) const {
    Floats x({-5, 0, 1, 2}), y({0, 0, 0, 0});
    DLTensor in = x.view(), out = y.view();
    bool ok = true;
    for (int k = 0; k < times; ++k) ok &= session->run(*context, {&in, 1}, {&out, 1}).ok();
    return ok;
  }
};

Profiled make(const std::string& fault, bool profiling = true) {
  Profiled out{*Session::load(test::two_relus(), test::load_fault("faulty_none", fault)), nullptr};
  out.context = *out.session->make_context();
  if (profiling) out.session->set_profiling(*out.context, true);
  return out;
}

void report(uint64_t call_id, std::string_view name) {
  host_table()->span(nullptr, call_id, -1, to_str(name), 1, 2, nullptr, 0);
}

TEST(Spans, AreKeptWithTheirStepNodeAndDetails) {
  Profiled p = make("");
  ASSERT_TRUE(p.run());
  const SpanLog& log = p.spans();
  ASSERT_EQ(log.labels.size(), 4u);
  const SpanLabel& load = log.labels[0];
  EXPECT_EQ(load.step, 0u);
  EXPECT_EQ(load.node, 0);
  EXPECT_EQ(load.name, "load");
  EXPECT_THAT(load.details, ElementsAre(Pair("implementation", "a loop"), Pair("src", "abcd"),
                                        Pair("is_reorder", "1")));
  EXPECT_EQ(load.detail("src"), "abcd");
  EXPECT_EQ(load.detail("dst"), "");
  EXPECT_EQ(log.labels[1].name, "store");
  EXPECT_EQ(log.labels[1].node, -1);
  EXPECT_EQ(log.labels[2].step, 1u);
  ASSERT_EQ(log.times.size(), 4u);
  EXPECT_EQ(log.times[0].end_ns - log.times[0].begin_ns, 10u);
  EXPECT_EQ(log.times[1].end_ns - log.times[1].begin_ns, 20u);
}

TEST(Spans, OfLaterRunsShareTheirLabels) {
  Profiled p = make("");
  ASSERT_TRUE(p.run(3));
  EXPECT_EQ(p.spans().labels.size(), 4u);
  std::vector<uint32_t> labels;
  for (const SpanTime& time : p.spans().times) labels.push_back(time.label);
  EXPECT_THAT(labels, ElementsAre(0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3));
}

TEST(Spans, AreNotToldWhileNobodyProfiles) {
  Profiled p = make("", false);
  ASSERT_TRUE(p.run());
  EXPECT_TRUE(p.spans().labels.empty());
  p.session->set_profiling(*p.context, true);
  ASSERT_TRUE(p.run());
  p.session->set_profiling(*p.context, false);
  ASSERT_TRUE(p.run());
  EXPECT_EQ(p.spans().times.size(), 4u);
}

TEST(Spans, BelongToTheContextThatRuns) {
  Profiled one = make("");
  Profiled two = make("");
  std::thread other([&] { EXPECT_TRUE(two.run(50)); });
  EXPECT_TRUE(one.run(50));
  other.join();
  EXPECT_EQ(one.spans().times.size(), 200u);
  EXPECT_EQ(two.spans().times.size(), 200u);
}

TEST(Spans, ThatEndBeforeTheyBeginAreRefused) {
  Profiled p = make("spans-backwards");
  ASSERT_TRUE(p.run());
  EXPECT_EQ(p.spans().refused, 2u);
  EXPECT_TRUE(p.spans().times.empty());
}

TEST(Spans, WithTextsThatAreNoneOrAKeyWithoutValueAreRefused) {
  Profiled p = make("spans-broken");
  ASSERT_TRUE(p.run());
  EXPECT_EQ(p.spans().refused, 4u);
}

TEST(Spans, OfCallsThatNobodyMadeAreDropped) {
  uint64_t before = stray_spans();
  Profiled p = make("spans-stray");
  ASSERT_TRUE(p.run());
  EXPECT_EQ(stray_spans() - before, 2u);
  EXPECT_TRUE(p.spans().times.empty());
}

TEST(Spans, ToldAfterTheirContextIsGoneAreDropped) {
  uint64_t before = stray_spans(), call_id = 0;
  {
    SpanRecorder recorder(1);
    call_id = recorder.call_id(0);
    report(call_id, "in time");
    EXPECT_EQ(recorder.log().times.size(), 1u);
    report(call_id + 1, "of a step that is not there");
  }
  report(call_id, "late");
  EXPECT_EQ(stray_spans() - before, 2u);
}

TEST(Spans, TellThreadsApart) {
  SpanRecorder recorder(1);
  report(recorder.call_id(0), "here");
  std::thread([&] { report(recorder.call_id(0), "there"); }).join();
  report(recorder.call_id(0), "here");
  std::vector<uint32_t> threads;
  for (const SpanTime& time : recorder.log().times) threads.push_back(time.thread);
  EXPECT_THAT(threads, ElementsAre(0, 1, 0));
}

TEST(Spans, BeyondWhatIsKeptAreCounted) {
  SpanRecorder recorder(1);
  constexpr uint64_t kMany = (1 << 20) + 5;
  for (uint64_t k = 0; k < kMany; ++k) report(recorder.call_id(0), "again");
  EXPECT_EQ(recorder.log().times.size(), kMany - 5);
  EXPECT_EQ(recorder.log().dropped, 5u);
}

}  // namespace
}  // namespace byoc
