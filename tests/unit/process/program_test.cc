// SPDX-License-Identifier: Apache-2.0
// Programs of the system as child processes. The tests run sh, which every system has.
#include "core/process/program.h"

#include <gmock/gmock.h>
#include <signal.h>

namespace byoc::process {
namespace {

constexpr std::chrono::seconds kLong{60};

ProgramResult run_shell(const std::string& script, std::string_view input = "",
                        std::chrono::seconds limit = kLong) {
  auto result = run_program({"sh", "-c", script}, input, limit);
  EXPECT_TRUE(result.ok()) << result.status().to_string();
  return result.ok() ? *std::move(result) : ProgramResult();
}

TEST(Program, ReadsItsInputAndIsReadFromBothStreams) {
  ProgramResult ran = run_shell("cat; echo problem >&2", "two\nlines\n");
  EXPECT_TRUE(ran.end.is_success());
  EXPECT_EQ(ran.out, "two\nlines\n");
  EXPECT_EQ(ran.err, "problem\n");
}

TEST(Program, MayReadLateAndPrintMoreThanAPipeHolds) {
  std::string text(size_t{1} << 20, 'y');
  EXPECT_EQ(run_shell("sleep 0.1; cat", text).out.size(), text.size());
}

TEST(Program, IsReportedWithItsExitCodeOrSignal) {
  ProgramResult ran = run_shell("exit 3");
  EXPECT_EQ(ran.end.kind, End::kExited);
  EXPECT_EQ(ran.end.code, 3);
  EXPECT_FALSE(ran.end.is_success());
  ran = run_shell("kill -TERM $$");
  EXPECT_EQ(ran.end.kind, End::kSignal);
  EXPECT_EQ(ran.end.code, SIGTERM);
}

TEST(Program, IsEndedAfterTheLimit) {
  EXPECT_EQ(run_shell("exec sleep 100", "", std::chrono::seconds(1)).end.kind, End::kTimedOut);
}

TEST(Program, ThatDoesNotExistIsReportedWithTheReason) {
  auto ran = run_program({"byoc-no-such-program"}, "", kLong);
  ASSERT_TRUE(ran.ok());
  EXPECT_EQ(ran->end.kind, End::kNotStarted);
  EXPECT_EQ(ran->end.code, ENOENT);
}

}  // namespace
}  // namespace byoc::process
