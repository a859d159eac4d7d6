// SPDX-License-Identifier: Apache-2.0
// Trials in child processes on a processor that has other work.
#include "runtime/plugin_file/trial.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>

namespace byoc {
namespace {

void stay_on_one_processor() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  sched_setaffinity(0, sizeof one, &one);
}

/// Keeps this processor busy for longer than a trial may take.
pid_t start_other_work() {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const time_t end = ::time(nullptr) + kTrialSeconds + 3; ::time(nullptr) < end;) {
  }
  ::_exit(0);
}

/// Computes for 0.2 s, only when nothing else runs on the processor.
std::string compute_last(const TrialStep& /*step*/) {
  const sched_param none{};
  sched_setscheduler(0, SCHED_IDLE, &none);
  for (timespec used{}; used.tv_sec == 0 && used.tv_nsec < 200'000'000;)
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return "";
}

// A busy machine had sound plugins refused, and remembered.
TEST(Trial, DoesNotCountTheTimeThatAChildWaitsForAProcessor) {
  const pid_t tested = ::fork();
  if (tested == 0) {
    stay_on_one_processor();
    start_other_work();
    const TrialWork work = compute_last;
    ::_exit(try_in_children({&work, 1})[0].kind == TrialResult::kSound ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(tested, &status, 0), tested);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace byoc
