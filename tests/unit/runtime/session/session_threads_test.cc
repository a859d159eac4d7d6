// SPDX-License-Identifier: Apache-2.0
// Runs of one session on several threads, and the memory that a session keeps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "byoc/runtime/session.h"
#include "runtime/host/host.h"
#include "support/faults.h"
#include "support/temp_folder.h"
#include "unit/runtime/executables.h"
#include "unit/runtime/host_functions.h"

namespace byoc {
namespace {

using test::Floats;
using ::testing::Each;
using ::testing::ElementsAre;

constexpr int kCallers = 8, kRounds = 100;

std::unique_ptr<Session> load(const std::string& fault, uint32_t threads) {
  auto session = Session::load(test::two_relus(), test::load_fault("faulty_none", fault),
                               {.threads = threads});
  EXPECT_TRUE(session.ok()) << session.status().to_string();
  return session.ok() ? *std::move(session) : nullptr;
}

/// Counts correct runs: y = x + 20, or the plugin's error when x is negative.
int good_runs(const Session& session, float x, const std::string& error) {
  int good = 0;
  auto context = *session.make_context();
  Floats in({x, x, x, x}), out({0, 0, 0, 0});
  DLTensor in_view = in.view(), out_view = out.view();
  for (int round = 0; round < kRounds; ++round) {
    Status status = session.run(*context, {&in_view, 1}, {&out_view, 1});
    good += x < 0 ? status.to_string() == error : status.ok() && out.values()[3] == x + 20;
  }
  return good;
}

TEST(SessionThreads, ARunThatFailsDisturbsNobodyElse) {
  const std::string error =
      "error[run-failed]: faulty: the kernel panicked\n  faulty_main_0 (\"Relu_0\")";
  for (uint32_t threads : {1u, 2u}) {
    int64_t statuses = host_counts().statuses;
    auto session = load("run-negative", threads);
    ASSERT_NE(session, nullptr);
    std::vector<int> good(kCallers);
    std::vector<std::thread> callers;
    for (int k = 0; k < kCallers; ++k) {
      callers.emplace_back([&, k] {
        float x = k % 2 == 0 ? -1.0f : static_cast<float>(k);
        good[k] = good_runs(*session, x, error);
      });
    }
    for (std::thread& caller : callers) caller.join();
    EXPECT_THAT(good, Each(kRounds)) << threads << " threads";
    EXPECT_EQ(host_counts().statuses, statuses);
  }
}

TEST(SessionThreads, AContextWhoseRunFailedRunsAgain) {
  auto session = load("run-negative", 1);
  ASSERT_NE(session, nullptr);
  auto context = *session->make_context();
  Floats bad({-1, 0, 0, 0}), x({1, 2, 3, 4}), y({0, 0, 0, 0});
  DLTensor in = bad.view(), out = y.view();
  EXPECT_FALSE(session->run(*context, {&in, 1}, {&out, 1}).ok());
  in = x.view();
  ASSERT_TRUE(session->run(*context, {&in, 1}, {&out, 1}).ok());
  EXPECT_THAT(y.values(), ElementsAre(21, 22, 23, 24));
}

TEST(SessionConstants, ThatNoKernelReadsAnyMoreAreLetGo) {
  Executable executable = test::two_relus();  // its kernels keep their constant
  auto more = test::floats({1, 2, 3});
  ContentKey kept = executable.constants.begin()->first;
  executable.constants.emplace(more->key(), more);
  for (ExternalFunction& function : executable.modules[0].functions)
    function.constants.push_back({"unused", more->key(), {DType::kF32, {3}}});
  std::weak_ptr<const Buffer> watched = std::exchange(more, nullptr);
  auto session = Session::load(std::move(executable), test::load_fault("faulty_none"));
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  EXPECT_TRUE((*session)->executable().constants.contains(kept));
  EXPECT_EQ((*session)->executable().constants.size(), 1u);
  EXPECT_TRUE(watched.expired());
}

TEST(SessionConstants, OfAMappedArtifactStayReadableWhenItsNeighboursAreLetGo) {
  test::TempFolder folder;
  ASSERT_TRUE(save_artifact(test::with_modules(), folder.file("m.byoc")).ok());
  auto loaded = load_artifact(folder.file("m.byoc"));
  ASSERT_TRUE(loaded.ok()) << loaded.status().to_string();
  auto last = loaded->constants.rbegin()->second;
  std::vector<std::byte> bytes(last->bytes().begin(), last->bytes().end());
  loaded = Executable();  // frees all others, which shared its pages
  EXPECT_TRUE(std::ranges::equal(last->bytes(), bytes));
}

}  // namespace
}  // namespace byoc
