// SPDX-License-Identifier: Apache-2.0
#include "core/process/machine_load.h"

#include <gmock/gmock.h>

#include <unistd.h>
#include <filesystem>

#include "support/temp_folder.h"

namespace byoc::process {
namespace {

// Clocks of a machine with two processors, as the kernel writes them.
class Proc : public test::TempFolder {
 public:
  Proc() { std::filesystem::create_directory(file("self")); }
  /// `busy_s` of processor time in user code, and as much idle time; `waited_ns` of the process.
  ProcessorTimes at(double wall_s, double own_s, uint64_t busy_s, uint64_t waited_ns) const {
    const uint64_t ticks = busy_s * static_cast<uint64_t>(::sysconf(_SC_CLK_TCK));
    test::put(file("stat"),
              cat("cpu  ", ticks, " 0 0 ", ticks, " 7 0 0 0 0 0\ncpu0 1 0 0 1 0 0 0 0\n",
                  "cpu1 1 0 0 1 0 0 0 0\nintr 5\n"));
    test::put(file("self/schedstat"), cat("123 ", waited_ns, " 9\n"));
    ProcessorTimes out = processor_times(path());
    out.wall_s = wall_s;
    out.own_s = own_s;
    return out;
  }
};

TEST(MachineLoad, IsTheWorkOfOthers) {
  Proc proc;
  const ProcessorTimes before = proc.at(100, 7, 50, 1'000'000'000);
  const ProcessorTimes after = proc.at(110, 16, 66, 5'000'000'000);
  const OtherLoad load = load_between(before, after);  // 16 s of two processors, 9 s of them ours
  EXPECT_EQ(load.processors, 2u);
  EXPECT_DOUBLE_EQ(load.others, 0.7);
  EXPECT_DOUBLE_EQ(load.waited, 0.4);
  EXPECT_TRUE(load.is_busy());
  EXPECT_EQ(load.text(),
            "other work used 0.7 of 2 processors, and this process waited 40 % of the time");
}

TEST(MachineLoad, OfAQuietMachineIsNotBusy) {
  Proc proc;
  const ProcessorTimes before = proc.at(100, 7, 50, 0), after = proc.at(110, 17, 60, 10'000'000);
  EXPECT_FALSE(load_between(before, after).is_busy());
  EXPECT_DOUBLE_EQ(load_between(before, after).others, 0);
}

TEST(MachineLoad, WithoutClocksOfTheKernelIsNotKnown) {
  test::TempFolder empty;
  const ProcessorTimes before = processor_times(empty.path());
  const OtherLoad load = load_between(before, processor_times(empty.path()));
  EXPECT_EQ(load.others, 0);
  EXPECT_EQ(load.waited, 0);
  EXPECT_FALSE(load.is_busy());
}

TEST(MachineLoad, HasTheClocksOfThisMachine) {
  const ProcessorTimes now = processor_times();
  EXPECT_GE(now.processors, 1u);
  EXPECT_GT(now.machine_s, 0);
  EXPECT_GT(now.own_s, 0);
}

}  // namespace
}  // namespace byoc::process
