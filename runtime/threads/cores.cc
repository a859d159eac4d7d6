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

void keep_core(int core, uint32_t worker) {
  // Those of the first caller: threads inherit the one core of the thread that starts them.
  static const cpu_set_t all = [] {
    cpu_set_t out;
    if (::sched_getaffinity(0, sizeof out, &out) != 0) CPU_ZERO(&out);
    return out;
  }();
  cpu_set_t one;
  const auto count = static_cast<uint32_t>(CPU_COUNT(&all));
  if (count == 0) return;
  size_t at = core < 0 ? CPU_SETSIZE - 1 : static_cast<size_t>(core);
  for (uint32_t left = worker % count; left > 0;) {
    at = (at + 1) % CPU_SETSIZE;
    if (CPU_ISSET(at, &all)) --left;
  }
  if (!CPU_ISSET(at, &all)) return;  // the caller has left the cores of this thread
  CPU_ZERO(&one);
  CPU_SET(at, &one);
  static_cast<void>(::sched_setaffinity(0, sizeof one, &one));
}

}  // namespace byoc
