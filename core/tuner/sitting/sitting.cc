// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/sitting/sitting.h"

#include <algorithm>
#include <cmath>

#include "byoc/base/check.h"
#include "byoc/base/clock.h"
#include "byoc/extend/hooks.h"
#include "core/tuner/batch/local_bench.h"
#include "core/tuner/search/tuner.h"
#include "core/tuner/sitting/shared_points.h"
#include "core/tuner/slurm/cluster_bench.h"
#include "core/tuner/starts/starts.h"

namespace byoc::tune {
namespace {

constexpr size_t kBatch = 16;  // trials between two runs of the reference loop
constexpr double kFailed = std::numeric_limits<double>::infinity();

std::vector<const Space*> spaces_of(const std::vector<Task>& tasks) {
  std::vector<const Space*> out;
  for (const Task& task : tasks) out.push_back(&task.space);
  return out;
}

std::vector<double> weights_of(const std::vector<Task>& tasks) {
  std::vector<double> out;
  for (const Task& task : tasks) out.push_back(task.weight);
  return out;
}

StartsUse use_of(const std::string& log, Starts starts) {
  StartsUse out{.log = log, .format = starts.format, .summary = summary_of(starts)};
  out.lines = starts.lines, out.used = starts.used, out.starts = starts.starts.size();
  out.skipped = std::move(starts.skipped);
  out.choices_used = std::move(starts.choices_used);
  out.choices_unfit = std::move(starts.choices_unfit);
  return out;
}

class Sitting {
 public:
  Sitting(const std::vector<Task>& tasks, const SittingOptions& options, const Watch& watch,
          LogWriter log, KnownPoints known, SharedPoints shared, Bench bench)
      : tasks_(tasks),
        options_(options),
        watch_(watch),
        log_(std::move(log)),
        known_(std::move(known)),
        shared_(std::move(shared)),
        bench_(std::move(bench)),
        search_(spaces_of(tasks), weights_of(tasks), search_options()) {
    report_.tasks.resize(tasks.size());
  }

  Result<SittingReport> run() {
    BYOC_TRY_STATUS(seed());
    for (;;) {
      const std::vector<Proposal> proposals = propose();
      if (proposals.empty()) break;
      Status done = run_batch(proposals);
      if (!append_status_.ok()) return append_status_;
      if (!done.ok() && done.code() == Code::kCancelled) break;
      BYOC_TRY_STATUS(std::move(done));
    }
    update_time();
    report_.remarks = bench_.remarks();
    report_.remarks.insert(report_.remarks.end(), shared_.remarks.begin(), shared_.remarks.end());
    report_.observations = shared_.use;
    report_.observations.measured = report_.measured;
    return std::move(report_);
  }

 private:
  SearchOptions search_options() {
    report_.total = options_.trials_per_task * tasks_.size();
    report_.total -= std::min(report_.total, known_.size());
    SearchOptions out;
    out.seed = options_.seed;
    out.trials = report_.total;
    out.batch = kBatch;
    out.model = extend::hooks().tuner_model;
    out.search = extend::hooks().tuner_search;
    return out;
  }

  Status seed() {
    for (const KnownPoints::Seed& seed : known_.seeds()) search_.seed(seed.task, seed.record);
    for (const std::string& log : options_.starts) {
      BYOC_TRY(Starts starts, read_starts(log, spaces_of(tasks_)));
      for (const Start& start : starts.starts) search_.add_start(start.task, start.point);
      report_.starts.push_back(use_of(log, std::move(starts)));
    }
    for (size_t k = 0; k < tasks_.size(); ++k) {
      if (auto best = known_.best(k)) bench_.set_champion(k, best->point, best->ns);
      update(k);
    }
    return {};
  }

  /// Returns as many rounds of the search as the bench measures at the same time.
  std::vector<Proposal> propose() {
    std::vector<Proposal> out;
    BYOC_CHECK(bench_.batches > 0, "a bench measures a batch at a time at least");
    for (size_t k = 0; k < bench_.batches; ++k) {
      std::vector<Proposal> round = search_.next(kBatch);
      std::ranges::move(round, std::back_inserter(out));
    }
    return out;
  }

  void update_time() { report_.seconds = ns_since(begin_) * 1e-9; }

  /// Copies what is known of a task to the report.
  void update(size_t task) {
    BYOC_CHECK(task < report_.tasks.size() && !tasks_[task].space.guesses.empty(), "task ", task,
               " of ", report_.tasks.size());
    TaskReport& to = report_.tasks[task];
    to.best = bench_.champion(task);
    to.best_ns = to.best.empty() ? kFailed : known_.ns(task, to.best);
    to.untuned_ns = known_.ns(task, tasks_[task].space.guesses.at(0));
    to.trials = known_.trials(task);
    to.errors = known_.errors(task);
  }

  bool keep_going() {
    update_time();
    report_.state = bench_.state();
    if (report_.seconds >= options_.budget_s) report_.end = SittingEnd::kBudget;
    else if (!watch_(report_)) report_.end = SittingEnd::kInterrupted;
    return report_.end == SittingEnd::kDone && append_status_.ok();
  }

  void append(size_t task, const Record& record) {
    if (append_status_.ok()) append_status_ = log_.append(record);
    known_.add(task, record);
    shared_.add(task, record);
  }

  void add(const Outcome& outcome) {
    BYOC_CHECK(outcome.task < report_.tasks.size(), "task ", outcome.task, " of ",
               report_.tasks.size());
    TaskReport& to = report_.tasks[outcome.task];
    if (!outcome.defect.empty()) {
      to.defect = outcome.defect;
      return;
    }
    for (const Record& record : outcome.records) append(outcome.task, record);
    report_.measured += outcome.is_trial;
    to.measured += outcome.is_trial;
    report_.repeated += outcome.is_repeated;
    report_.current = outcome.task;
    update(outcome.task);
  }

  Status run_batch(const std::vector<Proposal>& proposals) {
    std::vector<Trial> trials;
    for (const Proposal& proposal : proposals) trials.push_back({proposal.task, proposal.point});
    BYOC_TRY_STATUS(bench_.measure(
        trials, [this] { return keep_going(); }, [this](const Outcome& one) { add(one); }));
    for (const Trial& trial : trials)
      search_.add(trial.task, trial.point, known_.ns(trial.task, trial.point));
    return {};
  }

  const std::vector<Task>& tasks_;
  const SittingOptions& options_;
  const Watch& watch_;
  LogWriter log_;
  KnownPoints known_;
  SharedPoints shared_;
  Bench bench_;
  SittingReport report_;
  TuningSearch search_;
  Status append_status_;
  const uint64_t begin_ = now_ns();
};

Result<Bench> make_bench(const std::vector<Task>& tasks, const BuildOptions& build,
                         const SittingOptions& options, RecordFacts facts) {
  if (options.slurm)
    return slurm_bench(tasks, build, options.measure, *options.slurm, options.log,
                       std::move(facts));
  BYOC_TRY(auto local, LocalBench::make(tasks, build, options.measure, std::move(facts)));
  return bench_of(std::move(local));
}

}  // namespace

Result<SittingReport> tune(const std::vector<Task>& tasks, const BuildOptions& build,
                           const SittingOptions& options, const Watch& watch) {
  BYOC_TRY(RecordFacts facts, RecordFacts::of(tasks, build));
  BYOC_TRY(LogWriter log, LogWriter::open(options.log));
  BYOC_TRY(KnownPoints known, KnownPoints::read(options.log, tasks, facts));
  BYOC_TRY(SharedPoints shared, SharedPoints::open(options.observations, tasks, build, facts));
  for (SharedPoints::Shared& one : shared.missing_in(known)) {
    BYOC_TRY_STATUS(log.append(one.record));
    known.add_seed(one.task, std::move(one.record));
  }
  BYOC_TRY(Bench bench, make_bench(tasks, build, options, std::move(facts)));
  return Sitting(tasks, options, watch, std::move(log), std::move(known), std::move(shared),
                 std::move(bench))
      .run();
}

}  // namespace byoc::tune
