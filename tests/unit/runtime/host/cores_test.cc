// SPDX-License-Identifier: Apache-2.0
#include "runtime/threads/cores.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

#include "runtime/host/threads.h"

namespace byoc {
namespace {

cpu_set_t cores_of_thread() {
  cpu_set_t out;
  EXPECT_EQ(::sched_getaffinity(0, sizeof out, &out), 0);
  return out;
}

void set_cores(const cpu_set_t& cores) {
  ASSERT_EQ(::sched_setaffinity(0, sizeof cores, &cores), 0);
}

cpu_set_t only(int core) {
  cpu_set_t out;
  CPU_ZERO(&out);
  CPU_SET(static_cast<size_t>(core), &out);
  return out;
}

/// Runs `test` on a thread whose affinity does not matter afterwards.
template <class F>
void on_a_thread(F test) {
  std::thread(test).join();
}

TEST(LeaveCore, MovesToAnotherOneOfTheThread) {
  if (available_cores() < 2) GTEST_SKIP() << "one core";
  on_a_thread([] {
    const cpu_set_t all = cores_of_thread();
    const int core = current_core();
    ASSERT_GE(core, 0);
    constexpr int kRounds = 20;
    int moved = 0;
    for (int round = 0; round < kRounds; ++round) {
      set_cores(only(core));
      set_cores(all);  // stays where it is
      leave_core(core);
      moved += current_core() != core ? 1 : 0;
      const cpu_set_t now = cores_of_thread();
      EXPECT_TRUE(CPU_EQUAL(&all, &now)) << "the cores that the thread may use have changed";
    }
    EXPECT_GT(moved, kRounds / 2);  // the system may have moved it back
  });
}

TEST(LeaveCore, LeavesAThreadOfAnotherCoreAlone) {
  if (available_cores() < 2) GTEST_SKIP() << "one core";
  on_a_thread([] {
    const cpu_set_t all = cores_of_thread();
    const int core = current_core();
    cpu_set_t others = all;
    CPU_CLR(static_cast<size_t>(core), &others);
    set_cores(others);
    leave_core(core);
    leave_core(-1);
    EXPECT_NE(current_core(), core);
    const cpu_set_t now = cores_of_thread();
    EXPECT_TRUE(CPU_EQUAL(&others, &now));
  });
}

TEST(LeaveCore, StaysWhereThereIsNoOther) {
  on_a_thread([] {
    const int core = current_core();
    const cpu_set_t one = only(core);
    set_cores(one);
    leave_core(core);
    EXPECT_EQ(current_core(), core);
    const cpu_set_t now = cores_of_thread();
    EXPECT_TRUE(CPU_EQUAL(&one, &now));
  });
}

}  // namespace
}  // namespace byoc
