// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/sitting/sitting.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "byoc/base/clock.h"
#include "byoc/tune/record.h"
#include "core/tuner/measure/measurer.h"
#include "core/tuner/search/tuner.h"
#include "core/tuner/sitting/known_points.h"

namespace byoc::tune {
namespace {

constexpr size_t kBatch = 16;        // trials between two runs of the reference loop
constexpr double kMostDrift = 0.03;  // of the reference loop within a batch
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

std::string worker_name() {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  return cat(host, ":", getpid());
}

class Sitting {
 public:
  Sitting(const std::vector<Task>& tasks, const BuildOptions& build, const SittingOptions& options,
          const Watch& watch, LogWriter log, KnownPoints known, std::unique_ptr<Measurer> measurer)
      : tasks_(tasks),
        build_(build),
        options_(options),
        watch_(watch),
        log_(std::move(log)),
        known_(std::move(known)),
        measurer_(std::move(measurer)),
        search_(spaces_of(tasks), weights_of(tasks), search_options()) {
    report_.tasks.resize(tasks.size());
  }

  Result<SittingReport> run() {
    seed();
    for (;;) {
      const std::vector<Proposal> proposals = search_.next(kBatch);
      if (proposals.empty()) break;
      Status done = run_batch(proposals);
      if (!append_status_.ok()) return append_status_;
      if (!done.ok() && done.code() == Code::kCancelled) break;
      BYOC_TRY_STATUS(std::move(done));
    }
    update_time();
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
    return out;
  }

  void seed() {
    for (const KnownPoints::Seed& seed : known_.seeds()) search_.seed(seed.task, seed.record);
    for (size_t k = 0; k < tasks_.size(); ++k) {
      if (auto best = known_.best(k)) measurer_->set_champion(k, best->point, best->ns);
      update(k);
    }
  }

  void update_time() { report_.seconds = ns_since(begin_) * 1e-9; }

  /// Copies what is known of a task to the report.
  void update(size_t task) {
    TaskReport& to = report_.tasks[task];
    const Champion& champion = measurer_->champion(task);
    to.best = champion.point;
    to.best_ns = champion.point.empty() ? kFailed : known_.ns(task, champion.point);
    to.untuned_ns = known_.ns(task, tasks_[task].space.guesses.at(0));
    to.trials = known_.trials(task);
    to.errors = known_.errors(task);
  }

  bool keep_going() {
    update_time();
    if (report_.seconds >= options_.budget_s) report_.end = SittingEnd::kBudget;
    else if (!watch_(report_)) report_.end = SittingEnd::kInterrupted;
    return report_.end == SittingEnd::kDone && append_status_.ok();
  }

  Record record_of(size_t task, const Point& point) const {
    const Task& from = tasks_[task];
    Record out;
    out.key = from.key;
    out.task = from.space.task;
    out.plugin = from.plugin;
    out.plugin_version = known_.plugin_version(task);
    out.kind = from.space.kind;
    out.target = known_.target();
    out.threads = known_.threads();
    out.flops = from.space.flops;
    out.bytes = from.space.bytes;
    out.point = point;
    out.ref_ns = reference_ns_;
    out.time = std::time(nullptr);
    out.worker = worker_;
    return out;
  }

  void append(size_t task, const Record& record) {
    if (append_status_.ok()) append_status_ = log_.append(record);
    known_.add(task, record);
  }

  /// Appends a measurement to the log; with a duel, also the champion's part of it.
  void add(const Measured& measured) {
    const size_t task = measured.trial.task;
    if (!measured.is_tried) {
      report_.tasks[task].defect = measured.error;
      return;
    }
    Record record = record_of(task, measured.trial.point);
    record.samples_ns = measured.samples_ns;
    record.error = measured.error;
    record.build_ns = measured.build_ns;
    append(task, record);
    if (!measured.champion_ns.empty()) {
      Record replayed = record_of(task, measured.champion);
      replayed.samples_ns = measured.champion_ns;
      append(task, replayed);
    }
    report_.current = task;
    update(task);
  }

  Status run_batch(const std::vector<Proposal>& proposals) {
    auto going = [this] { return keep_going(); };
    if (reference_ns_ == 0) {
      BYOC_TRY(reference_ns_, measurer_->reference_ns(going));
    }
    std::vector<Trial> trials;
    for (const Proposal& proposal : proposals) trials.push_back({proposal.task, proposal.point});
    Status measured = measurer_->measure(trials, going, [&](const Measured& one) {
      add(one);
      if (!one.is_tried) return;
      ++report_.measured;
      ++report_.tasks[one.trial.task].measured;
    });
    BYOC_TRY_STATUS(std::move(measured));
    BYOC_TRY_STATUS(repeat_after_drift(trials));
    for (const Trial& trial : trials)
      search_.add(trial.task, trial.point, known_.ns(trial.task, trial.point));
    return {};
  }

  /// Measures points of a batch again when the reference loop shows that the machine became faster
  /// or slower meanwhile: those that would be the best if they were wrong by that much.
  Status repeat_after_drift(const std::vector<Trial>& trials) {
    auto going = [this] { return keep_going(); };
    const double before = reference_ns_;
    BYOC_TRY(reference_ns_, measurer_->reference_ns(going));
    const double drift = std::max(reference_ns_ / before, before / reference_ns_) - 1;
    if (drift <= kMostDrift) return {};
    std::vector<Trial> again;
    for (const Trial& trial : trials) {
      const double best = report_.tasks[trial.task].best_ns;
      const double ns = known_.ns(trial.task, trial.point);
      if (ns < kFailed && ns <= (1 + 2 * drift) * best) again.push_back(trial);
    }
    report_.repeated += again.size();
    return measurer_->measure(again, going, [&](const Measured& one) {
      if (one.error.empty()) add(one);
    });
  }

  const std::vector<Task>& tasks_;
  const BuildOptions& build_;
  const SittingOptions& options_;
  const Watch& watch_;
  LogWriter log_;
  KnownPoints known_;
  std::unique_ptr<Measurer> measurer_;
  SittingReport report_;
  TuningSearch search_;
  Status append_status_;
  double reference_ns_ = 0;
  const std::string worker_ = worker_name();
  const uint64_t begin_ = now_ns();
};

}  // namespace

Result<SittingReport> tune(const std::vector<Task>& tasks, const BuildOptions& build,
                           const SittingOptions& options, const Watch& watch) {
  BYOC_TRY(LogWriter log, LogWriter::open(options.log));
  BYOC_TRY(KnownPoints known, KnownPoints::read(options.log, tasks, build));
  BYOC_TRY(auto measurer, Measurer::make(tasks, build, options.measure));
  return Sitting(tasks, build, options, watch, std::move(log), std::move(known),
                 std::move(measurer))
      .run();
}

}  // namespace byoc::tune
