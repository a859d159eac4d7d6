// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <numeric>
#include <thread>
#include <vector>

#include "runtime/threads/team.h"

namespace byoc {
namespace {

/// Passes a lambda to parallel_for, which takes a C function.
template <class F>
int32_t run(uint64_t n, uint64_t grain, F f) {
  return parallel_for(
      n, grain,
      [](void* u, uint64_t lo, uint64_t hi, uint32_t worker) {
        return (*static_cast<F*>(u))(lo, hi, worker);
      },
      &f);
}

class ParallelFor : public ::testing::TestWithParam<Workers> {};

INSTANTIATE_TEST_SUITE_P(Of, ParallelFor, ::testing::Values(Workers::kOwn, Workers::kOpenMp),
                         [](const auto& info) {
                           return info.param == Workers::kOwn ? "OwnWorkers" : "OpenMpTeams";
                         });

TEST_P(ParallelFor, VisitsEveryIndexOnce) {
  for (uint32_t threads : {1u, 2u, 4u}) {
    ThreadScope scope(threads, GetParam());
    for (uint64_t n : {0u, 1u, 7u, 1000u}) {
      for (uint64_t grain : {0u, 1u, 3u, 2000u}) {
        std::vector<int> visits(n);  // not atomic: blocks must not overlap
        EXPECT_EQ(run(n, grain,
                      [&](uint64_t lo, uint64_t hi, uint32_t) {
                        for (; lo < hi; ++lo) ++visits[lo];
                        return 0;
                      }),
                  0);
        EXPECT_EQ(visits, std::vector<int>(n, 1));
      }
    }
  }
}

TEST_P(ParallelFor, BlocksAreTheSameForAnyNumberOfWorkers) {
  for (uint32_t threads : {1u, 3u}) {
    ThreadScope scope(threads, GetParam());
    std::vector<uint64_t> ends(4);
    run(10, 3, [&](uint64_t lo, uint64_t hi, uint32_t) { return ends[lo / 3] = hi, 0; });
    EXPECT_EQ(ends, (std::vector<uint64_t>{3, 6, 9, 10}));
  }
}

TEST_P(ParallelFor, SeesWhatWasWrittenBeforeAndIsSeenAfterwards) {  // for the thread sanitizer
  ThreadScope scope(4, GetParam());
  std::vector<int> values(1000, 1), sums(1000);
  for (int round = 0; round < 20; ++round) {
    std::fill(values.begin(), values.end(), round);
    run(1000, 10, [&](uint64_t lo, uint64_t hi, uint32_t) {
      for (; lo < hi; ++lo) sums[lo] += values[lo];
      return 0;
    });
  }
  EXPECT_EQ(std::accumulate(sums.begin(), sums.end(), 0), 190 * 1000);
}

TEST_P(ParallelFor, WorkerIdsAreSmallerThanMaxWorkersAndNeverSharedAtATime) {
  ThreadScope scope(3, GetParam());
  ASSERT_EQ(max_workers(), 3u);
  std::vector<std::atomic<int>> inside(3);
  EXPECT_EQ(run(200, 1,
                [&](uint64_t, uint64_t, uint32_t worker) {
                  if (worker >= 3 || inside[worker].fetch_add(1) != 0) return 1;
                  std::this_thread::yield();
                  inside[worker].fetch_sub(1);
                  return 0;
                }),
            0);
}

TEST_P(ParallelFor, NestedRunsGoInlineOnTheirWorker) {
  ThreadScope scope(4, GetParam());
  EXPECT_EQ(run(8, 1,
                [](uint64_t, uint64_t, uint32_t outer) {
                  auto id = std::this_thread::get_id();
                  ThreadScope inner(4, GetParam());  // needs no second token
                  return run(8, 1, [&](uint64_t, uint64_t, uint32_t nested) {
                    return nested == outer && std::this_thread::get_id() == id ? 0 : 1;
                  });
                }),
            0);
}

TEST_P(ParallelFor, ANonzeroReturnStopsTheRest) {
  for (uint32_t threads : {1u, 2u}) {
    ThreadScope scope(threads, GetParam());
    std::atomic<int> calls = 0;
    EXPECT_EQ(
        run(100000, 1, [&](uint64_t lo, uint64_t, uint32_t) { return ++calls, lo == 5 ? 42 : 0; }),
        42);
    EXPECT_LT(calls, 100000);
  }
}

TEST_P(ParallelFor, ManyLoopsOneAfterAnotherAreComplete) {  // a late worker must not enter the next
  ThreadScope scope(4, GetParam());
  uint64_t sum = 0;
  for (uint64_t round = 0; round < 5000; ++round) {
    std::atomic<uint64_t> part = 0;
    ASSERT_EQ(run(6, 1, [&](uint64_t lo, uint64_t, uint32_t) { return part += lo + round, 0; }), 0);
    sum += part;
  }
  EXPECT_EQ(sum, 5000 * 15 + 6 * (4999 * 5000 / 2));
}

TEST(OwnWorkers, AreCalledForAsManyBlocksAsThereAre) {
  ThreadScope scope(4, Workers::kOwn);
  std::atomic<uint32_t> last = 0;
  for (int round = 0; round < 2000; ++round) {
    run(20, 10, [&](uint64_t, uint64_t, uint32_t worker) {
      if (worker > last) last = worker;
      return 0;
    });
  }
  EXPECT_LT(last, 2u);
}

TEST(OwnWorkers, ALoopDoesNotWaitForWorkersThatDoNotCome) {
  const pid_t child = ::fork();  // has none of this process's workers
  if (child == 0) {
    uint32_t calls = 0;
    team::run(
        4, [](void* data, uint32_t worker) { *static_cast<uint32_t*>(data) += 1 + worker; },
        &calls);
    ::_exit(calls == 1 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

/// Counts the calls on workers, whose work takes `sleep_ms`; the caller stays for `stay_ms` or
/// until there is one.
struct Calls {
  int sleep_ms, stay_ms;
  std::atomic<int> of_workers = 0;

  int count(uint32_t threads) {
    team::run(
        threads,
        [](void* data, uint32_t worker) {
          auto& calls = *static_cast<Calls*>(data);
          const auto sleep = [](int ms) {
            std::this_thread::sleep_for(std::chrono::milliseconds(ms));
          };
          if (worker > 0) {
            ++calls.of_workers;
            return sleep(calls.sleep_ms);
          }
          for (int k = 0; k < calls.stay_ms && calls.of_workers == 0; ++k) sleep(1);
        },
        this);
    return of_workers;
  }
};

TEST(OwnWorkers, AreLeftAloneForAWhileAfterOneWasLate) {
  ThreadScope scope(2, Workers::kOwn);
  while (Calls{.sleep_ms = 200, .stay_ms = 100}.count(2) ==
         0) {  // on a busy machine it may not come
  }
  EXPECT_EQ((Calls{.sleep_ms = 0, .stay_ms = 20}.count(2)), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(2000));
  EXPECT_EQ((Calls{.sleep_ms = 0, .stay_ms = 60'000}.count(2)), 1);
}

/// Returns in how many of 100 loops of `threads` short blocks each worker did one.
int loops_by_all(uint32_t threads, Workers workers) {
  ThreadScope scope(threads, workers);
  int out = 0;
  for (int round = 0; round < 100; ++round) {
    std::vector<uint32_t> by(threads);
    run(threads, 1, [&](uint64_t lo, uint64_t, uint32_t worker) { return by[lo] = worker, 0; });
    bool is_by_all = true;
    for (uint32_t k = 0; k < threads; ++k) is_by_all &= by[k] == k;
    out += is_by_all;
  }
  return out;
}

// Otherwise the caller is done before a worker has come. The variable is read once, so this needs
// a process of its own. On a busy machine a worker may have no core for as long as others wait.
TEST(AllWorkers, DoTheirSharesOfShortLoops) {
  if (!team::needs_all()) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::setenv("BYOC_ALL_WORKERS", "1", 1);
      ::execl("/proc/self/exe", "runtime_test", "--gtest_filter=AllWorkers.*", nullptr);
      ::_exit(1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    return;
  }
  for (Workers workers : {Workers::kOwn, Workers::kOpenMp}) {
    for (uint32_t threads : {2u, 3u}) EXPECT_GE(loops_by_all(threads, workers), 90) << threads;
  }
}

TEST(OwnWorkers, AreLeftAloneForLongerWhenTheyAreLateAgain) {
  constexpr uint64_t kMs = 1'000'000;
  EXPECT_EQ(team::time_alone_ns(3 * kMs, 0, 0), 6 * kMs);
  EXPECT_EQ(team::time_alone_ns(3 * kMs, 6 * kMs, 6 * kMs), 24 * kMs);
  EXPECT_EQ(team::time_alone_ns(3 * kMs, 6 * kMs, 384 * kMs), 1000 * kMs);
  EXPECT_EQ(team::time_alone_ns(3 * kMs, 6 * kMs, 1000 * kMs), 1000 * kMs);
  EXPECT_EQ(team::time_alone_ns(900 * kMs, 6 * kMs, 24 * kMs), 1800 * kMs);
}

TEST(OwnWorkers, AreLeftAloneBrieflyWhenTheyWereInTimeForLong) {
  constexpr uint64_t kMs = 1'000'000;
  EXPECT_EQ(team::time_alone_ns(3 * kMs, 23 * kMs, 96 * kMs), 384 * kMs);
  EXPECT_EQ(team::time_alone_ns(3 * kMs, 24 * kMs, 96 * kMs), 6 * kMs);
  EXPECT_EQ(team::time_alone_ns(3 * kMs, 500 * kMs, 1000 * kMs), 6 * kMs);
}

TEST(OwnWorkers, AreMadeAgainAfterAFork) {
  ThreadScope scope(2, Workers::kOwn);
  run(100, 1, [](uint64_t, uint64_t, uint32_t) { return 0; });
  const pid_t child = ::fork();
  if (child == 0) {
    ThreadScope again(2, Workers::kOwn);
    ::_exit(Calls{.sleep_ms = 0, .stay_ms = 60'000}.count(2) == 1 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(ParallelForAlone, RunsInlineOutsideAScope) {
  auto id = std::this_thread::get_id();
  EXPECT_EQ(run(8, 1,
                [&](uint64_t, uint64_t, uint32_t worker) {
                  return worker == 0 && std::this_thread::get_id() == id ? 0 : 1;
                }),
            0);
}

TEST(ThreadScope, NestsAndGivesBackWhatWasThere) {
  EXPECT_EQ(max_workers(), kMaxThreads);  // the maximum for plugins at open
  {
    ThreadScope outer(4);
    {
      ThreadScope inner(1);
      EXPECT_EQ(max_workers(), 1u);
      ThreadScope innermost(2);  // uses the token of the outermost
      EXPECT_EQ(max_workers(), 2u);
    }
    EXPECT_EQ(max_workers(), 4u);
  }
  EXPECT_EQ(max_workers(), kMaxThreads);
  ThreadScope all(0);
  EXPECT_EQ(max_workers(), available_cores());
}

TEST(ThreadScope, OneOfSeveralThreadsAtATime) {
  std::atomic<int> inside = 0, most = 0;
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; ++k) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        ThreadScope scope(2);
        most = std::max(most.load(), ++inside);
        run(4, 1, [](uint64_t, uint64_t, uint32_t) { return 0; });
        --inside;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
}

TEST(ThreadScope, OfOneThreadNeverWaits) {
  ThreadScope holder(2);
  bool ran = false;
  std::thread([&] {
    ThreadScope scope(1);
    ran = true;
  }).join();
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace byoc
