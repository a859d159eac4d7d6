// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/measure/worker_process.h"

#include "byoc/base/check.h"

namespace byoc::tune {
namespace {

// A worker is replaced after so many requests, so that libraries that are never unloaded, and
// memory that plugins lose, do not add up.
constexpr size_t kMostRequests = 400;

std::string error_of(const process::End& end) {
  if (end.kind == process::End::kSignal) return cat("crash: signal ", end.code);
  return cat("crash: exit code ", end.code);
}

}  // namespace

Status WorkerProcess::start() {
  BYOC_TRY(program_, process::PipedProgram::start(command_.argv, command_.shows_errors));
  ready_ = false;
  requests_ = 0;
  return {};
}

Status WorkerProcess::begin(const Request& request, const Limits& limits) {
  BYOC_CHECK(!busy_, "a worker gets one request at a time");
  const std::string line = print(request);
  if (program_ && requests_ >= kMostRequests) program_.reset();
  if (!program_) BYOC_TRY_STATUS(start());
  if (!program_->send(line)) {  // it has ended since its last answer
    BYOC_TRY_STATUS(start());
    if (!program_->send(line)) return failed("a worker of the tuner does not start");
  }
  ++requests_;
  busy_ = true;
  limits_ = limits;
  deadline_ = Clock::now() + (ready_ ? limits.first : command_.start_limit);
  return {};
}

std::optional<Answer> WorkerProcess::end(Answer answer) {
  BYOC_CHECK(busy_ && program_, "an answer of a worker that has no request");
  if (answer.is_last || program_->is_closed()) program_.reset();
  busy_ = false;
  return answer;
}

std::optional<Answer> WorkerProcess::poll() {
  if (!busy_) return std::nullopt;
  BYOC_CHECK(program_, "a busy worker has a program");
  for (const std::string& line : program_->receive()) {
    const bool was_ready = ready_;
    ready_ = true;
    deadline_ = Clock::now() + (was_ready ? limits_.next : limits_.first);
    if (line == kReadyLine || line == kBeatLine) continue;
    auto answer = parse_answer(line);
    return end(answer.ok() ? *std::move(answer) : Answer{.error = answer.status().message()});
  }
  if (program_->is_closed()) return end(Answer{.error = error_of(program_->stop())});
  if (Clock::now() < deadline_) return std::nullopt;
  stop();
  return Answer{.error = "timeout"};
}

void WorkerProcess::stop() {
  program_.reset();
  busy_ = false;
}

}  // namespace byoc::tune
