// SPDX-License-Identifier: Apache-2.0
#include "runtime/guard/signal_stack.h"

#include <signal.h>
#include <sys/mman.h>

namespace byoc {
namespace {
constexpr size_t kStackBytes = size_t{64} << 10;
}  // namespace

SignalStack::SignalStack() {
  stack_t now{};
  if (::sigaltstack(nullptr, &now) != 0 || (now.ss_flags & SS_DISABLE) == 0) return;
  void* memory =
      ::mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  const stack_t stack{.ss_sp = memory, .ss_flags = 0, .ss_size = kStackBytes};
  if (::sigaltstack(&stack, nullptr) == 0) memory_ = memory;
  else ::munmap(memory, kStackBytes);
}

SignalStack::~SignalStack() {
  if (memory_ == nullptr) return;
  const stack_t none{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
  ::sigaltstack(&none, nullptr);
  ::munmap(memory_, kStackBytes);
}

}  // namespace byoc
