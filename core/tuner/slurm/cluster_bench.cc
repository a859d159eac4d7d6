// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/slurm/cluster_bench.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <thread>

#include "byoc/base/check.h"
#include "byoc/base/file.h"
#include "byoc/options.h"
#include "byoc/plugin/abi.h"
#include "core/tuner/slurm/here_builder.h"
#include "core/tuner/slurm/remote_worker.h"

namespace byoc::tune {
namespace fs = std::filesystem;
namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t kBatch = 16;      // points, at most
constexpr size_t kMostLosses = 3;  // workers that a point may lose before it is an error
constexpr std::chrono::milliseconds kBenchPause{20};
constexpr std::chrono::seconds kBenchBeat{2};    // between two signs of life for the workers
constexpr std::chrono::seconds kLongestEnd{10};  // that the end of workers may take

/// A point that is to be measured.
struct Item {
  Trial trial;
  bool is_trial = true;  // false: the best point of one worker, which meets that of another
  size_t losses = 0;
  bool is_done = false;
};

struct Worker {
  RemoteWorker remote;
  bool is_checked = false, is_gone = false;
  Batch batch;
  std::vector<size_t> items = {};  // of the batch
};

struct BestPoint {
  Point point;
  double ns = 0, ref_ns = 0;
};

class ClusterBench {
 public:
  ClusterBench(const std::vector<Task>& tasks, const BuildOptions& build,
               const MeasureOptions& measure, const SlurmOptions& options, std::string folder,
               RecordFacts facts, Scheduler scheduler)
      : tasks_(tasks),
        build_(build),
        measure_(measure),
        options_(options),
        folder_(std::move(folder)),
        facts_(std::move(facts)),
        scheduler_(std::move(scheduler)),
        best_(tasks.size()) {
    for (size_t k = 0; k < tasks.size(); ++k) index_.emplace(tasks[k].key, k);
    const uint32_t flags = BYOC_COMPILE_ONLY | compile_flags(build);
    if (options.builds_here) builder_.emplace(folder_, measure, flags);
  }
  ClusterBench(const ClusterBench&) = delete;
  ClusterBench& operator=(const ClusterBench&) = delete;
  ~ClusterBench() {
    (void)write_file(folder_.stop(), "");
    for (const Worker& worker : workers_) {
      if (!worker.is_gone) scheduler_.cancel(worker.remote.number());
    }
    const auto end = Clock::now() + kLongestEnd;
    for (auto left = scheduler_.states(); left.ok() && !left->empty() && Clock::now() < end;
         left = scheduler_.states())
      std::this_thread::sleep_for(kBenchPause);
    // Files of a worker may still arrive while the folder is deleted.
    std::error_code error;
    do fs::remove_all(folder_.path(), error);
    while (error && Clock::now() < end);
  }

  Status begin() {
    SittingFile sitting{build_.target_json, build_.threads, function_options_json(build_),
                        tasks_.size(), measure_};
    sitting.measure.builders = 0;
    for (size_t k = 0; k < tasks_.size(); ++k)
      BYOC_TRY_STATUS(write_task(tasks_[k], build_, measure_, folder_.task(k)));
    BYOC_TRY_STATUS(write_file(folder_.sitting(), print(sitting)));
    return submit(std::max<size_t>(options_.workers, 1));
  }

  void set_champion(size_t task, const Point& point, double ns) { best_[task] = {point, ns, 0}; }
  const Point& champion(size_t task) const { return best_[task].point; }
  const std::vector<std::string>& remarks() const { return remarks_; }

  Status measure(std::span<const Trial> trials, const KeepGoing& keep_going,
                 const EachOutcome& each) {
    items_.clear();
    queue_.clear();
    each_ = &each;
    for (const Trial& trial : trials) add_item({trial});
    while (has_work()) {
      if (!keep_going())
        return Status(Code::kCancelled, "the tuner was stopped").with_slug("interrupted");
      BYOC_TRY_STATUS(beat());
      for (Worker& worker : workers_) hear(worker);
      BYOC_TRY_STATUS(find_lost());
      BYOC_TRY_STATUS(hand_out(keep_going));
      std::this_thread::sleep_for(kBenchPause);
    }
    return {};
  }

  std::string state() const {
    const auto n = std::ranges::count_if(
        workers_, [](const Worker& worker) { return worker.is_checked && !worker.is_gone; });
    if (n > 0) return cat(n, n == 1 ? " machine" : " machines");
    return states_.empty() ? "waiting for machines"
                           : cat("waiting for machines: ", states_.begin()->second);
  }

 private:
  // ---- points

  /// Returns true while points are left, or batches whose best point is not known yet.
  bool has_work() const {
    return std::ranges::any_of(items_, [](const Item& item) { return !item.is_done; }) ||
           std::ranges::any_of(workers_, [](const Worker& worker) {
             return !worker.is_gone && !worker.items.empty();
           });
  }

  void add_item(Item item) {
    const size_t at = items_.size(), task = item.trial.task;
    items_.push_back(std::move(item));
    const bool fits = !queue_.empty() && queue_.back().size() < kBatch &&
                      items_[queue_.back()[0]].trial.task == task;
    if (fits) queue_.back().push_back(at);
    else queue_.push_back({at});
  }

  void finish(Item& item, Outcome outcome) {
    BYOC_CHECK(!item.is_done && each_ != nullptr,
               "a point has one result, while points are measured");
    item.is_done = true;
    outcome.task = item.trial.task;
    outcome.is_trial = item.is_trial;
    (*each_)(outcome);
  }

  void finish_with_error(Item& item, std::string error) {
    Record record = record_of(tasks_[item.trial.task], item.trial.point, facts_);
    record.error = std::move(error);
    finish(item, {.records = {std::move(record)}, .defect = ""});
  }

  /// Puts what a worker has not measured into the queue, before everything else.
  void take_back(Worker& worker) {
    std::vector<size_t> left;
    for (size_t at : worker.items) {
      Item& item = items_[at];
      if (item.is_done) continue;
      if (++item.losses >= kMostLosses)
        finish_with_error(item,
                          cat("lost: ", kMostLosses, " machines ended while they measured it"));
      else left.push_back(at);
    }
    worker.items.clear();
    if (builder_) HereBuilder::remove(worker.batch);
    if (!left.empty()) queue_.push_front(std::move(left));
  }

  // ---- news of workers

  void hear(Worker& worker) {
    for (Record& record : worker.remote.read()) {
      losses_ = 0;
      auto task = index_.find(record.key);
      if (task == index_.end()) continue;
      auto at = std::ranges::find_if(worker.items, [&](size_t k) {
        return !items_[k].is_done && items_[k].trial.task == task->second &&
               items_[k].trial.point == record.point;
      });
      Outcome outcome{
          .task = task->second, .records = {std::move(record)}, .is_trial = false, .defect = ""};
      if (at == worker.items.end()) (*each_)(outcome);
      else finish(items_[*at], std::move(outcome));
    }
    if (worker.is_gone) return;
    if (worker.remote.has_begun() && !worker.is_checked) check(worker);
    if (!worker.items.empty() && worker.remote.waiting() == 0) end_batch(worker);
  }

  /// Leaves a worker out whose times would not compare with those of this tuner.
  void check(Worker& worker) {
    worker.is_checked = true;
    const std::string why = worker.remote.difference(facts_);
    if (!why.empty()) leave_out(worker, why);
  }

  void end_batch(Worker& worker) {
    const WorkerState& state = worker.remote.state();
    auto defect = state.defects.find(cat(worker.batch.task));
    for (size_t at : worker.items) {
      if (items_[at].is_done || defect == state.defects.end()) continue;
      finish(items_[at], {.records = {}, .defect = defect->second});
    }
    meet(worker.batch, state);
    take_back(worker);
    const bool is_last = std::ranges::count(workers_, false, &Worker::is_gone) == 1;
    if (!worker.remote.has_drifted(options_.most_drift) || is_last) return;
    leave_out(worker, cat("its reference kernel changed by more than ", options_.most_drift * 100,
                          " % during each of ", RemoteWorker::kMostDrifts,
                          " batches, so its times mean little"));
  }

  /// Takes over the best point of a worker. When another worker found a new best point meanwhile,
  /// the two have to meet on one machine.
  void meet(const Batch& batch, const WorkerState& state) {
    BYOC_CHECK(batch.task < best_.size(), "task ", batch.task, " of ", best_.size());
    BestPoint& best = best_[batch.task];
    const Point& found = state.champion;
    if (found.empty() || found == batch.champion.point || found == best.point) return;
    if (best.point == batch.champion.point) {
      best = {found, state.champion_ns, state.ref_ns};
      return;
    }
    const double there = best.ref_ns > 0 && state.ref_ns > 0 ? state.ref_ns / best.ref_ns : 1;
    if (state.champion_ns < best.ns * there) add_item({{batch.task, found}, false});
  }

  // ---- workers

  Status submit(size_t count) {
    BYOC_CHECK(count > 0, "no worker is submitted");
    const size_t first = workers_.size();
    BYOC_TRY_STATUS(scheduler_.submit(first, count, excluded_));
    for (size_t k = 0; k < count; ++k) workers_.push_back({RemoteWorker(folder_, first + k)});
    asked_ = Clock::now();
    return {};
  }

  void remark(std::string text) {
    if (std::ranges::count(remarks_, text) == 0) remarks_.push_back(std::move(text));
  }

  std::string name_of(const Worker& worker) const {
    const std::string& host = worker.remote.state().host;
    return cat("worker ", worker.remote.number(), host.empty() ? "" : cat(" on ", host));
  }

  void lose(Worker& worker, const std::string& why) {
    worker.is_gone = true;
    last_reason_ = cat(name_of(worker), ": ", why);
    remark(last_reason_);
    take_back(worker);
    ++losses_;
  }

  void leave_out(Worker& worker, const std::string& why) {
    (void)write_file(folder_.stop(worker.remote.number()), "");
    scheduler_.cancel(worker.remote.number());
    if (!worker.remote.state().host.empty()) excluded_.push_back(worker.remote.state().host);
    lose(worker, cat("it is left out: ", why));
  }

  /// Finds workers that have ended or are silent, and submits others for them.
  Status find_lost() {
    for (Worker& worker : workers_) {
      if (worker.is_gone) continue;
      if (const std::string& error = worker.remote.state().error; !error.empty()) {
        lose(worker, error);
      } else if (worker.remote.silence() > options_.lost_after) {
        scheduler_.cancel(worker.remote.number());
        (void)write_file(folder_.stop(worker.remote.number()), "");
        lose(worker, "it is lost, it shows no sign of life");
      }
    }
    if (Clock::now() - asked_ > options_.state_interval) ask_scheduler();
    return replace_lost();
  }

  void ask_scheduler() {
    asked_ = Clock::now();
    auto states = scheduler_.states();
    if (!states.ok()) return remark(states.status().message());
    states_ = *std::move(states);
    for (Worker& worker : workers_) {
      if (worker.is_gone || states_.contains(worker.remote.number())) continue;
      hear(worker);  // its last records
      if (!worker.is_gone) lose(worker, cat("it has ended", worker.remote.last_words()));
    }
  }

  Status replace_lost() {
    const auto alive = static_cast<size_t>(std::ranges::count(workers_, false, &Worker::is_gone));
    const size_t wanted = std::max<size_t>(options_.workers, 1);
    if (losses_ > kMostLosses + wanted || (alive == 0 && losses_ > kMostLosses)) {
      return failed(cat("no machine of the cluster measures: ", last_reason_))
          .with_slug("slurm")
          .with_help("the log has all measurements so far; the same command continues");
    }
    if (alive >= wanted || is_refused_) return {};
    Status submitted = submit(wanted - alive);
    if (submitted.ok() || alive == 0) return submitted;
    is_refused_ = true;  // the others measure on: no machine may be left beside those left out
    remark(submitted.message());
    return {};
  }

  Status beat() {
    if (Clock::now() - beaten_ < kBenchBeat) return {};
    beaten_ = Clock::now();
    return write_file(folder_.tuner(), cat(++beats_, "\n"));
  }

  // ---- work for them

  Status hand_out(const KeepGoing& keep_going) {
    for (Worker& worker : workers_) {
      const bool is_idle = worker.is_checked && !worker.is_gone && worker.items.empty();
      if (!is_idle || queue_.empty()) continue;
      worker.items = std::move(queue_.front());
      queue_.pop_front();
      worker.batch = batch_of(worker.items);
      if (builder_) BYOC_TRY_STATUS(build(worker, keep_going));
      if (!worker.items.empty()) BYOC_TRY_STATUS(worker.remote.send(worker.batch));
    }
    return {};
  }

  Batch batch_of(const std::vector<size_t>& items) const {
    BYOC_CHECK(!items.empty() && items[0] < items_.size(), "a batch of ", items.size(), " of ",
               items_.size(), " points");
    Batch out{.task = items_[items[0]].trial.task, .items = {}, .champion = {}};
    for (size_t at : items) out.items.push_back({items_[at].trial.point, ""});
    const BestPoint& best = best_[out.task];
    out.champion = {best.point, ""};
    out.champion_ns = best.ns, out.champion_ref_ns = best.ref_ns;
    return out;
  }

  /// Compiles a worker's batch here. Points that cannot be compiled are done.
  Status build(Worker& worker, const KeepGoing& keep_going) {
    std::set<size_t> refused;
    Status built = builder_->build(
        worker.batch, [&] { return beat().ok() && keep_going(); },
        [&](size_t item, const std::string& error) {
          refused.insert(item);
          BYOC_CHECK(item < worker.items.size(), "point ", item, " of ", worker.items.size());
          finish_with_error(items_[worker.items[item]], error);
        });
    if (!built.ok()) {
      take_back(worker);
      return built;
    }
    for (auto at = refused.rbegin(); at != refused.rend(); ++at) {
      worker.batch.items.erase(worker.batch.items.begin() + static_cast<ptrdiff_t>(*at));
      worker.items.erase(worker.items.begin() + static_cast<ptrdiff_t>(*at));
    }
    return {};
  }

  const std::vector<Task>& tasks_;
  const BuildOptions& build_;
  const MeasureOptions measure_;
  const SlurmOptions options_;
  ExchangeFolder folder_;
  RecordFacts facts_;
  Scheduler scheduler_;
  std::optional<HereBuilder> builder_;
  std::map<ContentKey, size_t> index_;  // of tasks
  std::vector<BestPoint> best_;         // by task
  std::vector<Item> items_;             // of this call of measure
  std::deque<std::vector<size_t>> queue_;
  std::deque<Worker> workers_;  // by number
  std::vector<std::string> excluded_, remarks_;
  std::map<size_t, std::string> states_;
  std::string last_reason_;
  size_t losses_ = 0;        // of workers since the last record
  bool is_refused_ = false;  // no further machine is to be had
  uint64_t beats_ = 0;
  Clock::time_point beaten_, asked_;
  const EachOutcome* each_ = nullptr;
};

}  // namespace

Result<Bench> cluster_bench(const std::vector<Task>& tasks, const BuildOptions& build,
                            const MeasureOptions& measure, const SlurmOptions& options,
                            const std::string& folder, RecordFacts facts, Scheduler scheduler) {
  auto cluster = std::make_shared<ClusterBench>(tasks, build, measure, options, folder,
                                                std::move(facts), std::move(scheduler));
  BYOC_TRY_STATUS(cluster->begin());
  Bench out;
  out.batches = std::max<size_t>(options.workers, 1);
  out.set_champion = [cluster](size_t task, const Point& point, double ns) {
    cluster->set_champion(task, point, ns);
  };
  out.champion = [cluster](size_t task) { return cluster->champion(task); };
  out.measure = [cluster](auto trials, auto& going, auto& each) {
    return cluster->measure(trials, going, each);
  };
  out.state = [cluster] { return cluster->state(); };
  out.remarks = [cluster] { return cluster->remarks(); };
  return out;
}

}  // namespace byoc::tune
