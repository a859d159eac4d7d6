// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/measure/worker.h"

#include <fcntl.h>
#include <unistd.h>

#include <iostream>

#include "byoc/base/clock.h"
#include "byoc/base/file.h"
#include "core/tuner/measure/artifact_of_point.h"
#include "core/tuner/measure/loaded_point.h"

namespace byoc::tune {

Status Worker::open(const std::string& folder) {
  if (folder == folder_) return {};
  folder_.clear();
  BYOC_TRY(case_, driver::read_replay(folder));
  folder_ = folder;
  return {};
}

Result<Answer> Worker::prepare(const Request& request) {
  BYOC_TRY_STATUS(open(request.folder));
  BYOC_TRY_STATUS(compute_outputs(case_, request.reference, plugins_));
  BYOC_TRY_STATUS(driver::write_replay(case_, request.folder));
  return Answer{};
}

Result<Answer> Worker::build(const Request& request) {
  BYOC_TRY_STATUS(open(request.folder));
  const uint64_t begin = now_ns();
  BYOC_TRY(Executable executable,
           executable_of_point(case_, request.point, request.flags, *plugins_));
  Answer answer;
  answer.ns = ns_since(begin);
  BYOC_TRY_STATUS(save_artifact(executable, request.artifact));
  return answer;
}

Result<Answer> Worker::run(const Request& request) {
  BYOC_TRY_STATUS(open(request.folder));
  BYOC_TRY(auto point, LoadedPoint::load(request.artifact, case_, plugins_));
  beat_();
  BYOC_TRY_STATUS(point->check());
  beat_();
  BYOC_TRY(measure::Sampler sampler, point->sampler({.is_cold = request.is_cold, .beat = beat_}));
  Answer answer;
  BYOC_TRY(answer.samples_ns, sample_until_clear(sampler, request.best_ns));
  beat_();
  BYOC_TRY_STATUS(point->check());  // a kernel may be wrong from its second run on
  return answer;
}

Result<Answer> Worker::duel(const Request& request) {
  BYOC_TRY_STATUS(open(request.folder));
  BYOC_TRY(auto champion, LoadedPoint::load(request.champion, case_, plugins_));
  BYOC_TRY(auto point, LoadedPoint::load(request.artifact, case_, plugins_));
  beat_();
  const measure::SamplerOptions options{.is_cold = request.is_cold, .beat = beat_};
  BYOC_TRY(measure::Sampler champion_sampler, champion->sampler(options));
  BYOC_TRY(measure::Sampler sampler, point->sampler(options));
  BYOC_TRY(measure::Duel duel, measure::duel(champion_sampler, sampler));
  return Answer{
      .samples_ns = std::move(duel.b_ns), .champion_ns = std::move(duel.a_ns), .gain = duel.gain};
}

Answer Worker::answer(const Request& request) {
  Result<Answer> done = Answer{};
  switch (request.kind) {
    case Request::kPrepare:
      done = prepare(request);
      break;
    case Request::kBuild:
      done = build(request);
      break;
    case Request::kRun:
      done = run(request);
      break;
    case Request::kDuel:
      done = duel(request);
      break;
    case Request::kReference:
      done = Answer{.ns = measure::reference_loop_ns()};
      break;
  }
  if (done.ok()) return *std::move(done);
  const std::string& message = done.status().message();
  const bool is_exhausted = done.status().code() == Code::kResourceExhausted;
  if (request.kind == Request::kPrepare || message.starts_with("wrong: "))
    return Answer{.error = message, .is_last = is_exhausted};
  const bool is_build = request.kind == Request::kBuild;
  return Answer{.error = cat(is_build ? "build: " : "run: ", message),
                .is_last = is_exhausted || !is_build};
}

Status serve_requests(const std::shared_ptr<const PluginSet>& plugins) {
  const int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    return system_error("cannot copy", "standard output", errno);
  auto send = [&](std::string_view line) { return write_all(out, cat(line, "\n")); };
  Worker worker(plugins, [&] { (void)send(kBeatLine); });
  if (!send(kReadyLine)) return {};
  for (std::string line; std::getline(std::cin, line);) {
    BYOC_TRY(Request request, parse_request(line));
    if (!send(print(worker.answer(request)))) break;  // the tuner has ended
  }
  return {};
}

}  // namespace byoc::tune
