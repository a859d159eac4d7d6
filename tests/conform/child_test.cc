// How the kit watches what it runs in a child process.
#include "core/conform/process/child.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace byoc::conform {
namespace {

void sleep_ms(int ms) { ::usleep(static_cast<useconds_t>(ms) * 1000); }

TEST(Child, ThatIsSilentForTooLongIsEnded) {
  ChildResult child = run_in_child({.timeout_s = 1, .progress = {}}, [] {
    doing("waiting");
    for (;;) ::pause();
    return std::string();
  });
  EXPECT_FALSE(child.finished);
  EXPECT_EQ(child.defect, "hung for 1 s while waiting");
}

// As when a machine goes to sleep, or a shell stops a job: the clock goes on, nobody runs.
TEST(Child, ThatWasStoppedWithItsParentHasItsWholeTimeLeft) {
  constexpr int kRunsMs = 400, kStoppedMs = 1500;
  pid_t parent = ::fork();
  if (parent == 0) {
    ::setpgid(0, 0);
    ChildResult child = run_in_child({.timeout_s = 1, .progress = {}}, [] {
      for (int k = 0; k < 8; ++k) sleep_ms(kRunsMs / 8);
      return std::string("done");
    });
    ::_exit(child.finished && child.result == "done" ? 0 : 1);
  }
  ::setpgid(parent, parent);
  sleep_ms(kRunsMs / 2);
  ::kill(-parent, SIGSTOP);
  sleep_ms(kStoppedMs);
  ::kill(-parent, SIGCONT);
  int status = -1;
  ::waitpid(parent, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace byoc::conform
