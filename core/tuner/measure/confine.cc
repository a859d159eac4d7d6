// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "byoc/base/file.h"
#include "core/tuner/measure/worker.h"

namespace byoc::tune {
namespace {

void set_limit(__rlimit_resource_t resource, rlim_t most) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0) return;
  limit.rlim_cur = std::min(most, limit.rlim_max);
  setrlimit(resource, &limit);
}

/// Limits the address space. The sanitizers reserve more than any machine has.
void limit_memory() {
#ifndef BYOC_IS_SANITIZED
  constexpr rlim_t kLeast = rlim_t{2} << 30;
  const auto bytes =
      static_cast<rlim_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
  set_limit(RLIMIT_AS, std::max(kLeast, bytes / 2));
#endif
}

void be_first_without_memory() {
  const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  (void)write_all(file, "1000");
  close(file);
}

/// Leaves the last processor to the runner. Failure changes nothing but the noise of the times.
void choose_processors(Role role) {
  cpu_set_t set;
  if (role == Role::kWideRunner) return;
  if (sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) < 2) return;
  int last = CPU_SETSIZE - 1;
  while (!CPU_ISSET(last, &set)) --last;
  if (role == Role::kRunner) CPU_ZERO(&set);
  if (role == Role::kRunner) CPU_SET(last, &set);
  else CPU_CLR(last, &set);
  sched_setaffinity(0, sizeof set, &set);
}

}  // namespace

void confine_worker(Role role) {
  // Kernels of a sitting would fill the user's caches, and would not be compiled when their time to
  // compile is measured.
  setenv("XDG_CACHE_HOME", "/dev/null", 1);
  setenv("BYOC_TRY_PLUGINS", "0", 1);  // the tuner has tried them
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int fatal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGINT, SIGTERM})
    signal(fatal, SIG_DFL);
  set_limit(RLIMIT_CORE, 0);
  limit_memory();
  be_first_without_memory();
  choose_processors(role);
}

}  // namespace byoc::tune
