// SPDX-License-Identifier: Apache-2.0
#include "runtime/limits/limits.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>

#include "byoc/base/status.h"
#include "runtime/base/temporary.h"

namespace byoc {
namespace {

constinit std::atomic<uint64_t> memory_limit{0};
// The text that a handler prints: it may not allocate.
char late_text[256];
size_t late_size = 0;

void on_late(int) {
  remove_temporaries();
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, late_text, late_size);
  ::_exit(1);
}

void set_late_text(uint32_t seconds) {
  const std::string text =
      cat("error[time-limit]: compiling and loading took longer than --time-limit ", seconds,
          "\n  help: raise the limit, or compile a smaller model\n");
  late_size = std::min(text.size(), sizeof late_text);
  std::memcpy(late_text, text.data(), late_size);
}

std::optional<timer_t> start_timer(uint32_t seconds) {
  struct sigaction action {};
  action.sa_handler = on_late;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGRTMAX, &action, nullptr);
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGRTMAX;
  timer_t timer{};
  if (::timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return std::nullopt;
  itimerspec when{};
  when.it_value.tv_sec = seconds;
  ::timer_settime(timer, 0, &when, nullptr);
  return timer;
}

}  // namespace

LimitScope::LimitScope(const WorkLimits& limits) {
  rlimit memory{};
  if (limits.memory_bytes != 0 && ::getrlimit(RLIMIT_DATA, &memory) == 0) {
    outer_bytes_ = memory.rlim_cur;
    memory.rlim_cur = std::min<rlim_t>(limits.memory_bytes, memory.rlim_cur);
    has_memory_ = ::setrlimit(RLIMIT_DATA, &memory) == 0;
    memory_limit = limits.memory_bytes;
  }
  if (limits.seconds == 0) return;
  set_late_text(limits.seconds);
  timer_ = start_timer(limits.seconds);
}

LimitScope::~LimitScope() {
  if (timer_) ::timer_delete(*timer_);
  rlimit memory{};
  if (!has_memory_ || ::getrlimit(RLIMIT_DATA, &memory) != 0) return;
  memory.rlim_cur = outer_bytes_;
  ::setrlimit(RLIMIT_DATA, &memory);
}

uint64_t limit_of_memory() { return memory_limit.load(std::memory_order_relaxed); }

}  // namespace byoc
