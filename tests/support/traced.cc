// SPDX-License-Identifier: Apache-2.0
#include "traced.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "temp_folder.h"

namespace byoc::test {
namespace {

[[noreturn]] void become(const std::vector<std::string>& command, const std::string& out) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  int file = ::open(out.c_str(), O_WRONLY | O_CREAT, 0600);
  ::dup2(file, STDOUT_FILENO);
  ::dup2(file, STDERR_FILENO);
  ::setenv("ASAN_OPTIONS", "detect_leaks=0", 1);  // which uses ptrace itself
  ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
  ::raise(SIGSTOP);
  ::execv(arguments[0], arguments.data());
  ::_exit(127);
}

/// Returns "RssAnon:" and similar fields of a process, in bytes.
uint64_t field(const std::string& status, const std::string& name) {
  size_t at = status.find(name);
  return at == std::string::npos ? 0 : std::stoull(status.substr(at + name.size())) * 1024;
}

bool may_shrink_memory(uint64_t call) {
  return call == SYS_munmap || call == SYS_madvise || call == SYS_brk || call == SYS_mremap ||
         call == SYS_mmap || call == SYS_exit_group || call == SYS_exit;
}

class Tracer {
 public:
  explicit Tracer(pid_t child) : child_(child) {}

  Traced follow() {
    int status = 0;
    ::waitpid(child_, &status, 0);
    ::ptrace(PTRACE_SETOPTIONS, child_, nullptr,
             PTRACE_O_TRACECLONE | PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
    for (pid_t thread = child_; !has_ended(thread, status); thread = ::waitpid(-1, &status, __WALL))
      if (WIFSTOPPED(status)) resume(thread, signal_of(thread, status));
    return traced_;
  }

 private:
  bool has_ended(pid_t thread, int status) {
    if (thread < 0) return true;
    if (thread != child_ || WIFSTOPPED(status)) return false;
    traced_.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return true;
  }

  /// Returns the signal, if any, that a stopped thread is to get.
  int signal_of(pid_t thread, int status) {
    constexpr int kSyscall = SIGTRAP | 0x80;
    if (status >> 8 == (SIGTRAP | PTRACE_EVENT_CLONE << 8)) ++traced_.threads_started;
    if (WSTOPSIG(status) == kSyscall) look(thread);
    bool ours =
        WSTOPSIG(status) == kSyscall || WSTOPSIG(status) == SIGTRAP || WSTOPSIG(status) == SIGSTOP;
    return ours ? 0 : WSTOPSIG(status);
  }

  void look(pid_t thread) {
    __ptrace_syscall_info info{};
    ::ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info);
    if (info.op != PTRACE_SYSCALL_INFO_ENTRY || !may_shrink_memory(info.entry.nr)) return;
    std::string status = get("/proc/" + std::to_string(child_) + "/status");
    traced_.peak_anonymous_bytes =
        std::max(traced_.peak_anonymous_bytes, field(status, "RssAnon:"));
    traced_.peak_resident_bytes = std::max(traced_.peak_resident_bytes, field(status, "VmHWM:"));
  }

  void resume(pid_t thread, int signal) {
    ::ptrace(PTRACE_SYSCALL, thread, nullptr, static_cast<intptr_t>(signal));
  }

  pid_t child_;
  Traced traced_;
};

}  // namespace

Traced run_traced(const std::vector<std::string>& command) {
  TempFolder folder;
  pid_t child = ::fork();
  if (child == 0) become(command, folder.file("out"));
  if (child < 0) return {};
  Traced traced = Tracer(child).follow();
  traced.out = get(folder.file("out"));
  return traced;
}

}  // namespace byoc::test
