// SPDX-License-Identifier: Apache-2.0
#pragma once
// The way in which a child process ended.
#include <sys/types.h>

namespace byoc::process {

struct End {
  enum Kind { kNotStarted, kExited, kSignal, kTimedOut, kInterrupted };
  Kind kind = kNotStarted;
  int code = 0;  // kNotStarted: an errno; kExited: the exit code; kSignal: the signal
  bool is_success() const { return kind == kExited && code == 0; }
};

/// Translates the status that waitpid gives of a process that has ended.
End end_of(int wait_status);

/// A descriptor that polls as readable once the process `pid` has ended; closed when destroyed.
class EndHandle {
 public:
  EndHandle() = default;
  explicit EndHandle(pid_t pid);
  EndHandle(EndHandle&& other) noexcept;
  EndHandle& operator=(EndHandle&& other) noexcept;
  ~EndHandle();
  /// Returns the descriptor; -1, which poll ignores, when the kernel cannot make one.
  int fd() const { return fd_; }

 private:
  int fd_ = -1;
};

}  // namespace byoc::process
