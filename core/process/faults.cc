// SPDX-License-Identifier: Apache-2.0
#include "core/process/faults.h"

#include <signal.h>

#include "core/process/activity.h"
#include "runtime/guard/guarded_memory.h"

namespace byoc::process {
namespace {

void handle_fault(int signal, siginfo_t* info, void*) {
  describe_access(info->si_addr, activity().fault, sizeof activity().fault);
  ::signal(signal, SIG_DFL);  // the instruction is tried again, and ends the process
}

}  // namespace

void name_faults() {
  static char stack[1 << 14];  // the fault may be an overflow of the normal stack
  stack_t alternate{stack, 0, sizeof stack};
  sigaltstack(&alternate, nullptr);
  struct sigaction action {};
  action.sa_sigaction = handle_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, nullptr);
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace byoc::process
