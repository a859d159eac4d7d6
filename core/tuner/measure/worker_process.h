// SPDX-License-Identifier: Apache-2.0
#pragma once
// A worker as the tuner has it: started when it is needed, again after a crash or a hang.
#include <chrono>
#include <optional>

#include "core/process/piped_program.h"
#include "core/tuner/measure/protocol.h"

namespace byoc::tune {

/// The command of a worker, and its time limits.
struct WorkerCommand {
  std::vector<std::string> argv;  ///< the program, "tune-worker", its flags
  bool shows_errors = false;      ///< prints of plugins go to the tuner's standard error
  std::chrono::milliseconds start_limit{60'000};  ///< until the plugins are loaded
};

/// The time limits of a request.
struct Limits {
  std::chrono::milliseconds first{10'000};  ///< until its first sign of life
  std::chrono::milliseconds next{10'000};   ///< between two of them
};

/// One worker, which does one request at a time.
class WorkerProcess {
 public:
  using Clock = std::chrono::steady_clock;
  explicit WorkerProcess(WorkerCommand command) : command_(std::move(command)) {}
  /// Sends a request. Starts the worker when it does not run. Errors: it cannot be started.
  Status begin(const Request& request, const Limits& limits);
  bool is_busy() const { return busy_; }
  /// Returns the answer once it is there: that of the worker, or "timeout", or "crash: signal 11".
  /// After the last two the worker has ended.
  std::optional<Answer> poll();
  /// Drops the request and ends the worker.
  void stop();
  int fd() const { return program_ ? program_->fd() : -1; }  ///< polls as readable with news
  Clock::time_point deadline() const { return deadline_; }   ///< call poll again by then
  pid_t pid() const { return program_ ? program_->pid() : -1; }

 private:
  std::optional<Answer> end(Answer answer);
  Status start();
  WorkerCommand command_;
  std::unique_ptr<process::PipedProgram> program_;
  Limits limits_;
  Clock::time_point deadline_;
  bool busy_ = false, ready_ = false;
  size_t requests_ = 0;  // of this process
};

}  // namespace byoc::tune
