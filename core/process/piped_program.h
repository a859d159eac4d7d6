// SPDX-License-Identifier: Apache-2.0
#pragma once
// A program that runs for a while and exchanges lines with this process.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "byoc/base/status.h"
#include "core/process/end.h"

namespace byoc::process {

/// A child process whose standard input and output are one socket to this process. It has a process
/// group of its own, so that Ctrl-C on the terminal does not reach it. The destructor ends
/// it by stop.
class PipedProgram {
 public:
  /// Starts argv[0], which is searched on PATH. Its standard error is that of this process, or
  /// discarded. Errors: the system's, when the program cannot be started.
  static Result<std::unique_ptr<PipedProgram>> start(std::vector<std::string> argv,
                                                     bool shows_errors);
  PipedProgram(const PipedProgram&) = delete;
  PipedProgram& operator=(const PipedProgram&) = delete;
  ~PipedProgram();

  /// Sends the line and a line break. Returns false when the program does not read any more.
  bool send(std::string_view line);
  /// Returns the complete lines that have arrived; does not wait.
  std::vector<std::string> receive();
  /// Returns true when the program has closed its output, mostly because it has ended.
  bool is_closed() const { return closed_; }
  /// Returns a descriptor that polls as readable when lines have arrived or the program has ended.
  int fd() const { return fd_; }
  pid_t pid() const { return pid_; }
  /// Kills the processes of its group, and the program unless it has ended. Returns the way in
  /// which it ended.
  End stop();

 private:
  PipedProgram(pid_t pid, int fd) : pid_(pid), fd_(fd) {}
  pid_t pid_;
  int fd_;
  bool closed_ = false;
  std::string partial_;  // the begin of a line whose rest has not arrived
};

}  // namespace byoc::process
