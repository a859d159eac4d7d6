// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/batch/local_bench.h"

#include "byoc/base/check.h"

namespace byoc::tune {

Result<std::unique_ptr<LocalBench>> LocalBench::make(const std::vector<Task>& tasks,
                                                     const BuildOptions& build,
                                                     MeasureOptions options, RecordFacts facts) {
  BYOC_TRY(auto measurer, Measurer::make(tasks, build, std::move(options)));
  return std::unique_ptr<LocalBench>(new LocalBench(tasks, std::move(facts), std::move(measurer)));
}

LocalBench::LocalBench(const std::vector<Task>& tasks, RecordFacts facts,
                       std::unique_ptr<Measurer> measurer)
    : tasks_(tasks),
      facts_(std::move(facts)),
      measurer_(std::move(measurer)),
      batches_({[this](auto trials, auto& going, auto& each) {
                  return measurer_->measure(trials, going, each);
                },
                [this](auto& going) { return measurer_->reference_ns(going); },
                [this](size_t task) { return measurer_->champion(task).best_ns; }}) {}

void LocalBench::set_champion(size_t task, const Point& point, double best_ns,
                              std::string artifact) {
  measurer_->set_champion(task, point, best_ns, std::move(artifact));
}

/// Makes the records of a trial. With a duel, the loser's names the winner.
Outcome LocalBench::outcome_of(const Measured& measured) const {
  BYOC_CHECK(measured.trial.task < tasks_.size(), "task ", measured.trial.task, " of ",
             tasks_.size());
  const Task& task = tasks_[measured.trial.task];
  Outcome out{.task = measured.trial.task, .records = {}, .defect = ""};
  if (!measured.is_tried) {
    out.defect = measured.error;
    return out;
  }
  Record record = record_of(task, measured.trial.point, facts_);
  record.ref_ns = batches_.reference_ns();
  record.samples_ns = measured.samples_ns;
  record.error = measured.error;
  record.build_ns = measured.build_ns;
  if (measured.champion_ns.empty()) {
    out.records = {std::move(record)};
    return out;
  }
  Record replayed = record_of(task, measured.champion, facts_);
  replayed.ref_ns = record.ref_ns;
  replayed.samples_ns = measured.champion_ns;
  if (measured.is_champion) replayed.lost_to = measured.trial.point;
  else record.lost_to = measured.champion;
  out.records = {std::move(record), std::move(replayed)};
  return out;
}

Status LocalBench::measure(std::span<const Trial> trials, const KeepGoing& keep_going,
                           const EachOutcome& each) {
  return batches_.measure(trials, keep_going, [&](const Measured& one, bool is_repeated) {
    Outcome outcome = outcome_of(one);
    outcome.is_trial = !is_repeated;
    outcome.is_repeated = is_repeated;
    each(outcome);
  });
}

Bench bench_of(std::shared_ptr<LocalBench> local) {
  Bench out;
  out.set_champion = [local](size_t task, const Point& point, double best_ns) {
    local->set_champion(task, point, best_ns);
  };
  out.champion = [local](size_t task) { return local->champion(task).point; };
  out.measure = [local](auto trials, auto& going, auto& each) {
    return local->measure(trials, going, each);
  };
  return out;
}

}  // namespace byoc::tune
