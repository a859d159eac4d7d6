// SPDX-License-Identifier: Apache-2.0
#include "core/process/program.h"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "byoc/base/file.h"

namespace byoc::process {
namespace {

/// A file in memory. The program reads or writes it, so that no pipe can fill up.
class MemoryFile {
 public:
  MemoryFile() : fd_(memfd_create("byoc", MFD_CLOEXEC)) {}
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() {
    if (fd_ >= 0) close(fd_);
  }
  int fd() const { return fd_; }
  Status write(std::string_view text) const {
    if (!write_all(fd_, text)) return system_error("cannot write", "a file in memory", errno);
    lseek(fd_, 0, SEEK_SET);
    return {};
  }
  Result<std::string> text() const { return read_file(cat("/proc/self/fd/", fd_)); }

 private:
  int fd_;
};

/// Waits for the process, and ends it when the limit is over.
End wait_for(pid_t pid, std::chrono::seconds limit) {
  EndHandle handle(pid);
  pollfd polled{handle.fd(), POLLIN, 0};
  bool is_late = false;
  auto deadline = std::chrono::steady_clock::now() + limit;
  for (int ready = 0; handle.fd() >= 0 && ready == 0;) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) {
      kill(pid, SIGKILL);
      is_late = true;
      break;
    }
    ready = poll(&polled, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) ready = 0;
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return is_late ? End{End::kTimedOut, 0} : end_of(status);
}

/// Starts the program. Returns 0 or an errno.
int start(std::vector<std::string>& argv, const MemoryFile (&files)[3], pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_adddup2(&actions, files[fd].fd(), fd);
  std::vector<char*> pointers;
  for (std::string& word : argv) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  int error = posix_spawnp(&pid, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

}  // namespace

Result<ProgramResult> run_program(std::vector<std::string> argv, std::string_view input,
                                  std::chrono::seconds limit) {
  MemoryFile files[3];
  for (const MemoryFile& file : files) {
    if (file.fd() < 0) return system_error("cannot make", "a file in memory", errno);
  }
  BYOC_TRY_STATUS(files[STDIN_FILENO].write(input));
  ProgramResult result;
  pid_t pid = 0;
  if (int error = start(argv, files, pid)) {
    result.end = {End::kNotStarted, error};
    return result;
  }
  result.end = wait_for(pid, limit);
  BYOC_TRY(result.out, files[STDOUT_FILENO].text());
  BYOC_TRY(result.err, files[STDERR_FILENO].text());
  return result;
}

}  // namespace byoc::process
