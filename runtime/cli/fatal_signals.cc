// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/fatal_signals.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iterator>
#include <new>
#include <utility>

#include "byoc/base/defect.h"
#include "byoc/base/status.h"
#include "runtime/cli/command.h"
#include "runtime/guard/guarded_memory.h"
#include "runtime/host/host.h"
#include "runtime/limits/limits.h"

namespace byoc::cli {
namespace {

struct Watched {
  int number;
  std::string_view name;
  struct sigaction before;  // the handler to restore
};
Watched watched[] = {{SIGSEGV, "SIGSEGV", {}},
                     {SIGBUS, "SIGBUS", {}},
                     {SIGFPE, "SIGFPE", {}},
                     {SIGILL, "SIGILL", {}},
                     {SIGABRT, "SIGABRT", {}}};
alignas(64) char signal_stack[64 << 10];

/// Text in memory of its own, because a handler may not allocate.
class FixedLine {
 public:
  FixedLine& operator<<(std::string_view text) {
    const size_t n = std::min(text.size(), sizeof text_ - size_);
    std::memcpy(text_ + size_, text.data(), n);
    size_ += n;
    return *this;
  }
  void print() const {
    for (size_t at = 0; at < size_;) {
      const ssize_t n = ::write(STDERR_FILENO, text_ + at, size_ - at);
      if (n <= 0) return;
      at += static_cast<size_t>(n);
    }
  }

 private:
  char text_[4096];
  size_t size_ = 0;
};

// `what`: a signal, or how else the process ends.
void print(std::string_view what, const PluginCall& call, bool is_own, const void* address) {
  constexpr size_t kLongest = 200;  // a name is cut, so that the line has room for the rest
  FixedLine line;
  line << "error[plugin-crash]: " << what << " in plugin \"" << call.plugin.substr(0, kLongest)
       << "\", slot " << call.slot.name;
  if (!call.slot.function.empty()) line << ", function " << call.slot.function.substr(0, kLongest);
  if (!is_own) line << ", on a thread of its own";
  char access[256];
  if (describe_access(address, access, sizeof access)) line << ": " << access;
  line << "\n  help: a defect of the plugin; report it to its author\n";
  line.print();
}

constexpr size_t kReporterStack = size_t{16} << 20;
constexpr unsigned kReporterSeconds = 60;

/// Runs in a copy of the process: locks that other threads held stay held, and the heap may be
/// damaged. Whatever happens here, the process itself goes on; an alarm ends what waits for ever.
int report_in_copy(void* name) {
  for (const Watched& signal : watched) std::signal(signal.number, SIG_DFL);
  std::signal(SIGALRM, SIG_DFL);
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_UNBLOCK, &all, nullptr);
  ::alarm(kReporterSeconds);
  const std::string_view check = failed_check();
  const std::string what = check.empty()
                               ? cat(*static_cast<std::string_view*>(name), " outside of plugins")
                               : std::string(check);
  const std::string text = report_defect(what);
  FixedLine line;
  if (check.empty()) line << "error[bug]: " << what << "\n";
  if (!text.empty()) line << "  help: " << text << "\n";
  line.print();
  ::_exit(0);
}

/// Lets a copy of this process write the report, and waits for it. Calls nothing that takes a lock.
void report_own_defect(std::string_view signal) {
  void* stack = ::mmap(nullptr, kReporterStack, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) return;
  const pid_t copy =
      ::clone(report_in_copy, static_cast<char*>(stack) + kReporterStack, SIGCHLD, &signal);
  int status = 0;
  while (copy > 0 && ::waitpid(copy, &status, 0) < 0 && errno == EINTR) {
  }
}

/// Returns true for a fault of this process; another process may send the same signals.
bool is_own_fault(const siginfo_t& info) { return info.si_code > 0 || info.si_pid == ::getpid(); }

// Reports the signal, then restores the earlier handler: a sanitizer's, the command's for SIGABRT,
// or the default one, which ends the process.
void on_fatal_signal(int number, siginfo_t* info, void*) {
  Watched& signal = *std::find_if(std::begin(watched), std::end(watched),
                                  [&](const Watched& w) { return w.number == number; });
  const PluginCall* own = current_plugin_call.load(std::memory_order_acquire);
  const PluginCall* call = own ? own : shared_plugin_call.load(std::memory_order_acquire);
  struct sigaction next = signal.before;
  const bool is_check = number == SIGABRT && !failed_check().empty();
  const bool is_defect = (call == nullptr || is_check) && is_own_fault(*info) && reports_defects();
  if (is_defect && (number == SIGABRT || next.sa_handler == SIG_DFL)) {  // else a sanitizer reports
    report_own_defect(signal.name);
    ::_exit(kBug);
  }
  if (is_check) ::_exit(kBug);  // of a program without reports, such as byoc-run
  if (call != nullptr && !is_check) {
    print(signal.name, *call, own != nullptr, info->si_addr);
    if (number == SIGABRT) next.sa_handler = SIG_DFL;  // the plugin's abort is not byoc's defect
  }
  ::sigaction(number, &next, nullptr);
  const bool is_sent = info->si_code <= 0;  // by a process: returning does not repeat it
  if (is_sent) ::raise(number);
}

pid_t watched_process = 0;  // children that run plugins on trial look at their exit codes

// A plugin that ends the process would decide on the exit code of the command, 0 for example, and
// nothing would have been written.
void on_exit() {
  if (::getpid() != watched_process) return;
  const bool is_main_thread = ::gettid() == ::getpid();
  const PluginCall* own = current_plugin_call.load(std::memory_order_acquire);
  const PluginCall* call = own || is_main_thread ? own : shared_plugin_call.load();
  if (call == nullptr) return;
  print("a call of exit", *call, own != nullptr, nullptr);
  ::_exit(kFailed);
}

}  // namespace

void report_fatal_signals() {
  if (std::exchange(watched_process, ::getpid()) == 0) {
    std::atexit(on_exit);
    std::at_quick_exit(on_exit);
  }
  const stack_t stack{.ss_sp = signal_stack, .ss_flags = 0, .ss_size = sizeof signal_stack};
  ::sigaltstack(&stack, nullptr);
  for (Watched& signal : watched) {
    struct sigaction action {};
    action.sa_sigaction = on_fatal_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigemptyset(&action.sa_mask);
    struct sigaction before;
    if (::sigaction(signal.number, &action, &before) != 0) continue;
    const bool is_ours =
        (before.sa_flags & SA_SIGINFO) != 0 && before.sa_sigaction == on_fatal_signal;
    if (!is_ours) signal.before = before;
  }
}

namespace {

constexpr size_t kReserve = size_t{8} << 20;  // of address space; no page of it is touched
constinit std::atomic<void*> reserve{nullptr};

void on_failed_allocation() {
  if (void* memory = reserve.exchange(nullptr)) ::munmap(memory, kReserve);
  throw std::bad_alloc();
}

[[noreturn]] void on_terminate() {
  try {
    if (std::current_exception()) throw;
  } catch (const std::bad_alloc&) {
    print_out_of_memory();
    ::_exit(kFailed);
  } catch (...) {
  }
  std::abort();
}

/// Writes to the far end, which makes the kernel extend the stack up to there.
[[gnu::noinline]] void reserve_stack() {
  auto* stack = static_cast<volatile char*>(__builtin_alloca(size_t{1} << 20));
  *stack = 0;
}

}  // namespace

void print_out_of_memory() {
  FixedLine line;
  if (limit_of_memory() != 0)
    line << "error[max-memory]: an allocation failed\n  help: raise --max-memory, or use a smaller "
            "model\n";
  else
    line << "error[no-memory]: an allocation failed\n  help: raise the limit of memory (ulimit "
            "-v), end other programs, or use a smaller model\n";
  line.print();
}

void report_failed_allocations() {
  reserve_stack();
  void* memory = ::mmap(nullptr, kReserve, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory != MAP_FAILED) reserve = memory;
  std::set_new_handler(on_failed_allocation);
  std::set_terminate(on_terminate);
}

}  // namespace byoc::cli
