// SPDX-License-Identifier: Apache-2.0
// Threads that use states at the same time. `./check --tsan` runs it under the thread sanitizer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <thread>

#include "byoc/runtime/session.h"
#include "support/faults.h"
#include "unit/runtime/executables.h"
#include "unit/runtime/host_functions.h"

namespace byoc {
namespace {

using test::Floats;
using ::testing::ElementsAre;

constexpr size_t kThreads = 4;
constexpr int kRuns = 200;  // of each thread
const TensorSpec kSum{DType::kF32, {4}};

/// Returns next = past + x, y = next * x, by functions of the host.
std::unique_ptr<Session> sum_of_runs() {
  Executable executable;
  executable.producer = "byoc test";
  Program& program = executable.program;
  program.inputs = {{"x", kSum}, {"past", kSum}};
  program.outputs = {{"y", kSum}, {"next", kSum}};
  program.states = {{}};
  program.steps = {test::host_step("add", 2, {test::in(1), test::in(0), test::out(1)}, kSum),
                   test::host_step("mul", 2, {test::out(1), test::in(0), test::out(0)}, kSum)};
  auto session = Session::load(std::move(executable), test::load_fault("faulty_none", ""), {});
  EXPECT_TRUE(session.ok()) << session.status().to_string();
  test::provide(**session);
  return *std::move(session);
}

/// Calls f(k) on kThreads threads, none of which begins before all are created.
void on_threads(const std::function<void(size_t)>& f) {
  std::atomic<size_t> waiting{kThreads};
  std::vector<std::thread> threads;
  for (size_t k = 0; k < kThreads; ++k) {
    threads.emplace_back([&, k] {
      for (--waiting; waiting != 0;) std::this_thread::yield();
      f(k);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

Status run(const Session& session, Context& context) {
  Floats x({1, 2, 3, -4}), y({0, 0, 0, 0});
  DLTensor in = x.view(), out = y.view();
  return session.run(context, {&in, 1}, {&out, 1});
}

std::vector<float> state(const Session& session, const Context& context) {
  Floats read({-1, -1, -1, -1});
  EXPECT_TRUE(session.get_state(context, "past", read.view()).ok());
  return {read.values().begin(), read.values().end()};
}

/// Tries until it is no longer refused because of another thread. Returns the other error, or none.
Status until_free(const std::function<Status()>& use) {
  for (;;) {
    Status status = use();
    if (status.slug() != "state-in-use") return status;
    std::this_thread::yield();
  }
}

TEST(StatesOfThreads, AreApartInContextsOfTheirOwn) {
  auto session = sum_of_runs();
  std::array<std::vector<float>, kThreads> ends;
  on_threads([&](size_t k) {
    auto context = *session->make_context();
    for (int r = 0; r < kRuns + static_cast<int>(k); ++r) EXPECT_TRUE(run(*session, *context).ok());
    ends[k] = state(*session, *context);
  });
  for (size_t k = 0; k < kThreads; ++k) {
    const float n = kRuns + static_cast<float>(k);
    EXPECT_THAT(ends[k], ElementsAre(n, 2 * n, 3 * n, -4 * n));
  }
}

TEST(StatesOfThreads, LoseNoRunInContextsThatShareThem) {
  auto session = sum_of_runs();
  auto first = *session->make_context();
  std::vector<std::unique_ptr<Context>> contexts;
  for (size_t k = 0; k < kThreads; ++k) contexts.push_back(*session->make_context(*first));
  on_threads([&](size_t k) {
    for (int r = 0; r < kRuns; ++r)
      EXPECT_TRUE(until_free([&] { return run(*session, *contexts[k]); }).ok());
  });
  constexpr float kAll = kThreads * kRuns;
  EXPECT_THAT(state(*session, *first), ElementsAre(kAll, 2 * kAll, 3 * kAll, -4 * kAll));
}

TEST(StatesOfThreads, AreReadAndSetWhole) {
  auto session = sum_of_runs();
  auto context = *session->make_context();
  on_threads([&](size_t k) {
    for (int r = 0; r < kRuns; ++r) {
      Floats value({1, 2, 3, -4}), seen({0, 0, 0, 0});
      Status status = until_free([&] {
        if (k == 0) return run(*session, *context);
        if (k == 1) return session->set_state(*context, "past", value.view());
        if (k == 2 && r % 8 == 0) return session->reset_states(*context);
        return session->get_state(*context, "past", seen.view());
      });
      EXPECT_TRUE(status.ok()) << status.to_string();
      const float n = seen.values()[0];  // runs since it was set or reset
      EXPECT_THAT(seen.values(), ElementsAre(n, 2 * n, 3 * n, -4 * n));
    }
  });
}

}  // namespace
}  // namespace byoc
