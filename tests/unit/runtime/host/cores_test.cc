// SPDX-License-Identifier: Apache-2.0
#include "runtime/threads/cores.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "runtime/host/threads.h"
#include "runtime/threads/quota.h"
#include "support/temp_folder.h"

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

TEST(KeepCore, BindsEachWorkerToAnotherOne) {
  if (available_cores() < 2) GTEST_SKIP() << "one core";
  const cpu_set_t all = cores_of_thread();
  const int core = current_core();
  std::vector<int> kept(2, -1);
  for (uint32_t worker : {0U, 1U}) {
    on_a_thread([&, worker] {
      if (worker > 0) set_cores(only(core));  // inherited from the first, which starts it
      keep_core(core, worker);
      const cpu_set_t now = cores_of_thread();
      EXPECT_EQ(CPU_COUNT(&now), 1);
      kept[worker] = current_core();
    });
  }
  EXPECT_EQ(kept[0], core);
  EXPECT_NE(kept[1], core);
  EXPECT_TRUE(CPU_ISSET(static_cast<size_t>(kept[1]), &all));
}

/// Writes files below a folder, as a system with control groups has them.
struct Groups {
  test::TempFolder folder;
  void put(const std::string& path, const std::string& text) const {
    const std::string whole = folder.path() + path;
    std::filesystem::create_directories(std::filesystem::path(whole).parent_path());
    std::ofstream(whole) << text << "\n";
  }
  uint32_t cores() const { return quota_cores(folder.path()); }
};

TEST(Quota, OfTheSecondVersionIsTheLeastOfAGroupAndThoseAroundIt) {
  Groups groups;
  EXPECT_EQ(groups.cores(), UINT32_MAX) << "no groups";
  groups.put("/proc/self/cgroup", "0::/pods/one");
  groups.put("/sys/fs/cgroup/pods/one/cpu.max", "max 100000");
  EXPECT_EQ(groups.cores(), UINT32_MAX);
  groups.put("/sys/fs/cgroup/pods/cpu.max", "800000 100000");
  EXPECT_EQ(groups.cores(), 8u);
  groups.put("/sys/fs/cgroup/pods/one/cpu.max", "250000 100000");
  EXPECT_EQ(groups.cores(), 2u) << "2.5 cores";
  groups.put("/sys/fs/cgroup/pods/one/cpu.max", "50000 100000");
  EXPECT_EQ(groups.cores(), 1u);
}

TEST(Quota, OfAContainerIsThatOfTheTopThatItSees) {
  Groups groups;
  groups.put("/proc/self/cgroup", "0::/");
  groups.put("/sys/fs/cgroup/cpu.max", "400000 100000");
  EXPECT_EQ(groups.cores(), 4u);
}

TEST(Quota, OfTheFirstVersionIsReadToo) {
  Groups groups;
  groups.put("/proc/self/cgroup", "9:memory:/a\n4:cpu,cpuacct:/a\n1:name=systemd:/a");
  groups.put("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "300000");
  groups.put("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000");
  EXPECT_EQ(groups.cores(), 3u);
  groups.put("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "-1");
  EXPECT_EQ(groups.cores(), UINT32_MAX);
}

}  // namespace
}  // namespace byoc
