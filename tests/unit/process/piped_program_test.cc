// SPDX-License-Identifier: Apache-2.0
#include "core/process/piped_program.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

namespace byoc::process {
namespace {

std::vector<std::string> wait_for_lines(PipedProgram& program) {
  std::vector<std::string> lines;
  for (int k = 0; k < 100 && lines.empty() && !program.is_closed(); ++k) {
    pollfd polled{program.fd(), POLLIN, 0};
    poll(&polled, 1, 100);
    lines = program.receive();
  }
  return lines;
}

std::unique_ptr<PipedProgram> shell(const std::string& script) {
  auto program = PipedProgram::start({"sh", "-c", script}, false);
  EXPECT_TRUE(program.ok()) << program.status().to_string();
  return *std::move(program);
}

TEST(PipedProgram, ExchangesLines) {
  auto program = shell("while read x; do echo \"got $x\"; done");
  ASSERT_TRUE(program->send("one"));
  EXPECT_EQ(wait_for_lines(*program), std::vector<std::string>{"got one"});
  ASSERT_TRUE(program->send("two"));
  EXPECT_EQ(wait_for_lines(*program), std::vector<std::string>{"got two"});
  EXPECT_FALSE(program->is_closed());
}

TEST(PipedProgram, ReturnsLongLinesWhole) {
  auto program = shell("head -c 100000 /dev/zero | tr '\\0' x; echo; sleep 60");
  const auto lines = wait_for_lines(*program);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0], std::string(100000, 'x'));
}

TEST(PipedProgram, ReportsTheSignalThatEndedIt) {
  auto program = shell("kill -SEGV $$");
  EXPECT_TRUE(wait_for_lines(*program).empty());
  EXPECT_TRUE(program->is_closed());
  const End end = program->stop();
  EXPECT_EQ(end.kind, End::kSignal);
  EXPECT_EQ(end.code, SIGSEGV);
}

TEST(PipedProgram, ReportsTheExitCode) {
  auto program = shell("exit 3");
  EXPECT_TRUE(wait_for_lines(*program).empty());
  const End end = program->stop();
  EXPECT_EQ(end.kind, End::kExited);
  EXPECT_EQ(end.code, 3);
  EXPECT_FALSE(program->send("nothing reads this"));
}

TEST(PipedProgram, EndsAProgramThatDoesNotEnd) {
  auto program = shell("sleep 600");
  const pid_t pid = program->pid();
  program.reset();
  EXPECT_NE(kill(pid, 0), 0);
}

TEST(PipedProgram, EndsTheProcessesThatTheProgramHasStarted) {
  auto program = shell("sleep 600 & echo $!; wait");
  const auto lines = wait_for_lines(*program);
  ASSERT_EQ(lines.size(), 1U);
  const std::string stat = "/proc/" + lines[0] + "/stat";
  ASSERT_TRUE(std::filesystem::exists(stat));
  program.reset();
  auto is_over = [&] {
    std::ifstream file(stat);
    std::string text((std::istreambuf_iterator<char>(file)), {});
    return text.empty() || text.find(") Z ") != text.npos;
  };
  for (int k = 0; k < 500 && !is_over(); ++k)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(is_over());
}

TEST(PipedProgram, ReportsAMissingProgram) {
  auto program = PipedProgram::start({"/no/such/program"}, false);
  ASSERT_FALSE(program.ok());
  EXPECT_NE(program.status().message().find("/no/such/program"), std::string::npos);
}

}  // namespace
}  // namespace byoc::process
