// SPDX-License-Identifier: Apache-2.0
#include "core/process/end.h"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

namespace byoc::process {

End end_of(int wait_status) {
  if (WIFSIGNALED(wait_status)) return {End::kSignal, WTERMSIG(wait_status)};
  return {End::kExited, WEXITSTATUS(wait_status)};
}

EndHandle::EndHandle(pid_t pid) : fd_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))) {}
EndHandle::EndHandle(EndHandle&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
EndHandle& EndHandle::operator=(EndHandle&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}
EndHandle::~EndHandle() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace byoc::process
