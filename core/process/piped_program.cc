// SPDX-License-Identifier: Apache-2.0
#include "core/process/piped_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "byoc/base/file.h"

namespace byoc::process {
namespace {

constexpr size_t kLongestLine = size_t{64} << 20;  // bytes; a program that sends more is ended

/// Starts the program with `socket` as its input and output. Returns 0 or an errno.
int spawn(std::vector<std::string>& argv, int socket, bool shows_errors, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, socket, STDOUT_FILENO);
  if (!shows_errors)
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  std::vector<char*> pointers;
  for (std::string& word : argv) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  int error = posix_spawnp(&pid, pointers[0], &actions, &attributes, pointers.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

}  // namespace

Result<std::unique_ptr<PipedProgram>> PipedProgram::start(std::vector<std::string> argv,
                                                          bool shows_errors) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return system_error("cannot make", "a pair of sockets", errno);
  pid_t pid = 0;
  const int error = spawn(argv, ends[1], shows_errors, pid);
  close(ends[1]);
  if (error != 0) {
    close(ends[0]);
    return system_error("cannot start", argv[0], error);
  }
  return std::unique_ptr<PipedProgram>(new PipedProgram(pid, ends[0]));
}

PipedProgram::~PipedProgram() {
  stop();
  close(fd_);
}

bool PipedProgram::send(std::string_view line) {
  std::string text = cat(line, "\n");
  for (size_t at = 0; at < text.size();) {
    ssize_t n = ::send(fd_, text.data() + at, text.size() - at, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += static_cast<size_t>(n);
  }
  return true;
}

std::vector<std::string> PipedProgram::receive() {
  std::vector<std::string> lines;
  char buffer[4096];
  while (!closed_) {
    ssize_t n = recv(fd_, buffer, sizeof buffer, MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (n <= 0 || partial_.size() > kLongestLine) {
      closed_ = true;
      break;
    }
    std::string_view rest(buffer, static_cast<size_t>(n));
    for (size_t end; (end = rest.find('\n')) != rest.npos; rest.remove_prefix(end + 1)) {
      lines.push_back(partial_.append(rest.substr(0, end)));
      partial_.clear();
    }
    partial_.append(rest);
  }
  return lines;
}

End PipedProgram::stop() {
  if (pid_ < 0) return {};
  // A program that crashes closes its sockets before its end can be waited for, and a signal that
  // is sent meanwhile does not change the way in which it ends.
  int status = 0;
  kill(-pid_, SIGKILL);  // also the processes that it has started
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return end_of(status);
}

}  // namespace byoc::process
