// SPDX-License-Identifier: Apache-2.0
#include "runtime/threads/cores.h"

#include <sched.h>

namespace byoc {

int current_core() { return ::sched_getcpu(); }

void leave_core(int core) {
  if (core < 0 || current_core() != core) return;
  cpu_set_t all;
  if (::sched_getaffinity(0, sizeof all, &all) != 0) return;
  cpu_set_t others = all;
  CPU_CLR(static_cast<size_t>(core), &others);
  if (CPU_COUNT(&others) == 0 || ::sched_setaffinity(0, sizeof others, &others) != 0) return;
  static_cast<void>(::sched_setaffinity(0, sizeof all, &all));
}

}  // namespace byoc
