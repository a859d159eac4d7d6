// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/measure/measurer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "byoc/base/check.h"
#include "byoc/options.h"
#include "byoc/plugin/abi.h"
#include "core/measure/statistic.h"

namespace byoc::tune {
namespace {

WorkerCommand command_of(const MeasureOptions& options, const char* role) {
  WorkerCommand out{{options.program, "tune-worker", "--role", role}, options.shows_errors};
  out.argv.insert(out.argv.end(), options.plugin_flags.begin(), options.plugin_flags.end());
  return out;
}

}  // namespace

Result<std::unique_ptr<Measurer>> Measurer::make(const std::vector<Task>& tasks,
                                                 const BuildOptions& build,
                                                 MeasureOptions options) {
  BYOC_TRY(auto scratch, ScratchFolder::make());
  return std::unique_ptr<Measurer>(
      new Measurer(tasks, build, std::move(options), std::move(scratch)));
}

Measurer::Measurer(const std::vector<Task>& tasks, const BuildOptions& build,
                   MeasureOptions options, std::unique_ptr<ScratchFolder> scratch)
    : tasks_(tasks),
      build_(build),
      options_(std::move(options)),
      scratch_(std::move(scratch)),
      artifacts_(ScratchFolder::make_in_memory()),
      states_(tasks.size()),
      pool_(command_of(options_, "builder"), options_.builders,
            command_of(options_, build.threads == 1 ? "runner" : "wide-runner")) {
  for (size_t k = 0; k < tasks.size(); ++k) states_[k].is_cold = is_bound_by_weights(tasks[k]);
}

void Measurer::set_champion(size_t task, Point point, double best_ns, std::string artifact) {
  BYOC_CHECK(task < states_.size(), "task ", task, " of ", states_.size());
  discard(states_[task].champion.artifact);
  states_[task].champion = {std::move(point), best_ns, std::move(artifact)};
}

std::string Measurer::new_artifact() {
  return (artifacts_ ? artifacts_ : scratch_)->file(cat("point", made_++, ".byoc"));
}

void Measurer::discard(const std::string& artifact) const {
  const bool is_own = std::ranges::any_of(std::array{&artifacts_, &scratch_}, [&](const auto* own) {
    return *own && artifact.starts_with((*own)->file(""));
  });
  std::error_code ignored;
  if (is_own) std::filesystem::remove(artifact, ignored);
}

// ---- the folders of tasks

void Measurer::prepare(size_t task) {
  State& state = states_[task];
  state.folder = scratch_->file(cat("task", task));
  auto replay = case_of(tasks_[task], build_, options_.reference, options_.seed);
  Status written = replay.ok() ? driver::write_replay(*replay, state.folder) : replay.status();
  if (!written.ok()) return void(state.defect = written.message());
  Request request{.kind = Request::kPrepare, .folder = state.folder};
  request.reference = options_.reference;
  pool_.add_build({[request] { return request; },
                   [&state](Answer answer) { state.defect = std::move(answer.error); },
                   {options_.reference_limit, options_.reference_limit}});
}

Status Measurer::prepare(std::span<const Trial> trials, const KeepGoing& keep_going) {
  std::vector<size_t> prepared;
  for (const Trial& trial : trials) {
    BYOC_CHECK(trial.task < states_.size(), "task ", trial.task, " of ", states_.size());
    if (!states_[trial.task].folder.empty()) continue;
    prepared.push_back(trial.task);
    prepare(trial.task);
  }
  Status done = pool_.finish(keep_going);
  for (size_t k = 0; !done.ok() && k < prepared.size(); ++k) states_[prepared[k]].folder.clear();
  return done;
}

// ---- a trial: build, run, and a duel when it seems to be better than the best

Job Measurer::build_job(size_t task, const Point& point, std::string artifact,
                        std::function<void(Answer)> done) {
  Request request{.kind = Request::kBuild, .folder = states_[task].folder};
  request.point = point;
  request.flags = BYOC_COMPILE_ONLY | compile_flags(build_);
  request.artifact = std::move(artifact);
  return {
      [request] { return request; }, std::move(done), {options_.build_limit, options_.build_limit}};
}

void Measurer::build(const Shared& measured, const Each& each) {
  if (!measured->trial.artifact.empty()) return run(measured, measured->trial.artifact, each);
  const std::string artifact = new_artifact();
  auto done = [this, measured, artifact, &each](Answer answer) {
    measured->build_ns = answer.ns;
    measured->error = std::move(answer.error);
    if (measured->error.empty()) return run(measured, artifact, each);
    discard(artifact);
    each(*measured);
  };
  pool_.add_build(build_job(measured->trial.task, measured->trial.point, artifact, done));
}

Request Measurer::run_request(size_t task, const std::string& artifact) const {
  const State& state = states_[task];
  Request out{.kind = Request::kRun, .folder = state.folder};
  out.artifact = artifact;
  out.best_ns = state.champion.best_ns;
  out.is_cold = state.is_cold;
  return out;
}

void Measurer::run(const Shared& measured, const std::string& artifact, const Each& each) {
  auto request = [this, measured, artifact] { return run_request(measured->trial.task, artifact); };
  auto done = [this, measured, artifact, &each](Answer answer) {
    measured->samples_ns = std::move(answer.samples_ns);
    measured->error = std::move(answer.error);
    challenge(measured, artifact, each);
  };
  pool_.add_run({request, done, {options_.build_limit, options_.run_limit}});
}

/// Decides on a run: there is an error, a new first champion, no better time, or a duel.
void Measurer::challenge(const Shared& measured, const std::string& artifact, const Each& each) {
  Champion& champion = states_[measured->trial.task].champion;
  const bool is_timed = measured->error.empty() && !measured->samples_ns.empty();
  const double ns = is_timed ? measure::time_of(measured->samples_ns) : 0;
  if (is_timed && champion.point.empty()) {
    crown(*measured, artifact);
    return each(*measured);
  }
  if (is_timed && champion.point == measured->trial.point) {
    champion.best_ns = ns;  // as the machine is now
    measured->is_champion = true;
  } else if (is_timed && ns < champion.best_ns) {
    if (champion.artifact.empty()) return rebuild_champion(measured, artifact, each);
    return duel(measured, artifact, each);
  }
  discard(artifact);
  each(*measured);
}

/// Builds and runs the champion of an earlier sitting again, then decides on the challenger. A
/// champion that fails now is none any more. Another challenger may have replaced it meanwhile.
void Measurer::rebuild_champion(const Shared& measured, const std::string& artifact,
                                const Each& each) {
  const size_t task = measured->trial.task;
  const std::string file = new_artifact();
  const Point point = states_[task].champion.point;
  auto decide = [this, measured, artifact, task, file, point, &each](double ns) {
    Champion& champion = states_[task].champion;
    const bool is_awaited = champion.point == point && champion.artifact.empty();
    if (is_awaited && std::isfinite(ns)) {
      champion.artifact = file;
      champion.best_ns = ns;
    } else {
      if (is_awaited) champion = {};
      discard(file);
    }
    challenge(measured, artifact, each);
  };
  auto ran = [decide](const Answer& answer) {
    decide(answer.samples_ns.empty() ? std::numeric_limits<double>::infinity()
                                     : measure::time_of(answer.samples_ns));
  };
  auto built = [this, task, file, ran](const Answer& answer) {
    if (!answer.error.empty()) return ran(answer);
    pool_.add_next_run({[this, task, file] { return run_request(task, file); },
                        ran,
                        {options_.build_limit, options_.run_limit}});
  };
  pool_.add_build(build_job(task, point, file, built));
}

void Measurer::crown(Measured& measured, const std::string& artifact) {
  BYOC_CHECK(!measured.samples_ns.empty(), "a champion has a time");
  Champion& champion = states_[measured.trial.task].champion;
  discard(champion.artifact);
  champion = {measured.trial.point, measure::time_of(measured.samples_ns), artifact};
  measured.is_champion = true;
}

void Measurer::duel(const Shared& measured, const std::string& artifact, const Each& each) {
  auto request = [this, measured, artifact] {
    const State& state = states_[measured->trial.task];
    Request out{.kind = Request::kDuel, .folder = state.folder};
    out.artifact = artifact;
    BYOC_CHECK(!state.champion.artifact.empty(), "a duel with a champion that is not built");
    out.champion = state.champion.artifact;
    out.is_cold = state.is_cold;
    return out;
  };
  auto done = [this, measured, artifact, &each](Answer answer) {
    Champion& champion = states_[measured->trial.task].champion;
    measured->error = std::move(answer.error);
    if (!measured->error.empty()) {
      measured->samples_ns.clear();
      discard(artifact);
      return each(*measured);
    }
    measured->champion = champion.point;
    measured->champion_ns = std::move(answer.champion_ns);
    auto& samples = measured->samples_ns;
    if (answer.gain >= kLeastGain) {
      samples.insert(samples.end(), answer.samples_ns.begin(), answer.samples_ns.end());
      crown(*measured, artifact);
    } else {  // the samples before the duel were luck
      samples = std::move(answer.samples_ns);
      champion.best_ns = std::min(champion.best_ns, measure::time_of(measured->champion_ns));
      discard(artifact);
    }
    each(*measured);
  };
  pool_.add_next_run({request, done, {options_.build_limit, options_.run_limit}});
}

Status Measurer::measure(std::span<const Trial> trials, const KeepGoing& keep_going,
                         const Each& each) {
  BYOC_TRY_STATUS(prepare(trials, keep_going));
  for (size_t k = 0; k < trials.size(); ++k) {
    const Trial& trial = trials[k];
    auto measured = std::make_shared<Measured>(Measured{.index = k, .trial = trial});
    const std::string& defect = states_[trial.task].defect;
    if (defect.empty()) {
      build(measured, each);
    } else {
      measured->error = defect;
      measured->is_tried = false;
      each(*measured);
    }
  }
  return pool_.finish(keep_going);
}

Result<double> Measurer::reference_ns(const KeepGoing& keep_going) {
  Answer got;
  pool_.add_run({[] { return Request{.kind = Request::kReference}; },
                 [&got](Answer answer) { got = std::move(answer); },
                 {options_.build_limit, options_.build_limit}});
  BYOC_TRY_STATUS(pool_.finish(keep_going));
  if (!got.error.empty()) return failed(cat("a worker of the tuner failed: ", got.error));
  return got.ns;
}

}  // namespace byoc::tune
