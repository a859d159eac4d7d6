// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/slurm/node_worker.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "byoc/base/check.h"
#include "byoc/base/file.h"
#include "byoc/options.h"
#include "core/tuner/batch/local_bench.h"

namespace byoc::tune {
namespace fs = std::filesystem;
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kNodeBeat{1000}, kNodePause{20};

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

class NodeWorker {
 public:
  NodeWorker(const NodeOptions& options, std::shared_ptr<const PluginSet> plugins)
      : options_(options), folder_(options.folder) {
    build_.plugins = std::move(plugins);
  }

  Status run() {
    Status done = work();
    const bool is_end = done.ok() || done.code() == Code::kCancelled;
    if (!is_end) state_.error = done.message();
    if (exists(folder_.path())) (void)write_state();
    return is_end ? Status() : std::move(done);
  }

 private:
  Status work() {
    BYOC_TRY_STATUS(begin());
    BYOC_TRY(LogWriter log, LogWriter::open(folder_.records(options_.number)));
    for (size_t n = 1;; ++n) {
      const std::string file = folder_.batch(options_.number, n);
      while (!exists(file)) {
        if (!keep_going()) return {};
        std::this_thread::sleep_for(kNodePause);
      }
      BYOC_TRY(std::string text, read_file(file));
      BYOC_TRY(Batch batch, parse_batch(text));
      BYOC_TRY_STATUS(measure(batch, log));
      state_.done = n;
      BYOC_TRY_STATUS(write_state());
    }
  }

  Status begin() {
    BYOC_TRY(std::string text, read_file(folder_.sitting()));
    BYOC_TRY(SittingFile sitting, parse_sitting(text));
    build_.target_json = sitting.target_json;
    build_.threads = sitting.threads;
    BYOC_TRY_STATUS(read_function_options(sitting.options, build_));
    for (size_t k = 0; k < sitting.tasks; ++k) {
      BYOC_TRY(Task task, read_task(folder_.task(k)));
      tasks_.push_back(std::move(task));
    }
    BYOC_TRY(RecordFacts facts, RecordFacts::of(tasks_, build_));
    state_.pid = getpid();
    const char* node = std::getenv("SLURMD_NODENAME");  // may differ from the name of the host
    state_.host = node ? node : facts.worker.substr(0, facts.worker.rfind(':'));
    state_.machine = facts.machine;
    state_.target = facts.target;
    state_.versions = facts.versions;
    BYOC_TRY_STATUS(write_state());
    MeasureOptions measure = sitting.measure;
    measure.program = options_.program;
    measure.plugin_flags = options_.plugin_flags;
    const size_t cores = std::max(std::thread::hardware_concurrency(), 2U);
    if (measure.builders == 0) measure.builders = cores - 1;
    BYOC_TRY(bench_, LocalBench::make(tasks_, build_, std::move(measure), std::move(facts)));
    BYOC_TRY(state_.ref_ns, bench_->batches().begin([this] { return keep_going(); }));
    return write_state();
  }

  Status measure(const Batch& batch, LogWriter& log) {
    if (batch.task >= tasks_.size()) return invalid(cat("there is no task ", batch.task));
    if (!batch.champion.point.empty()) BYOC_TRY_STATUS(set_champion(batch));
    BYOC_CHECK(bench_ != nullptr, "a batch is measured after the bench was made");
    std::vector<Trial> trials;
    for (const Batch::Item& item : batch.items) {
      BYOC_TRY(std::string artifact, own_copy(item.artifact));
      trials.push_back({batch.task, item.point, std::move(artifact)});
    }
    Status appended;
    Status measured = bench_->measure(
        trials, [&] { return appended.ok() && keep_going(); },
        [&](const Outcome& one) {
          if (!one.defect.empty()) state_.defects[cat(one.task)] = one.defect;
          for (const Record& record : one.records) {
            if (appended.ok()) appended = log.append(record);
          }
        });
    BYOC_TRY_STATUS(std::move(appended));
    BYOC_TRY_STATUS(std::move(measured));
    delete_copies();
    const Champion& champion = bench_->champion(batch.task);
    state_.champion = champion.point;
    state_.champion_ns = champion.point.empty() ? 0 : champion.best_ns;
    state_.ref_ns = bench_->batches().reference_ns();
    state_.drift = bench_->batches().drift();
    return {};
  }

  /// Sets the best point, which another machine may have measured: the reference loops of both
  /// show which time it would have here. A better one has to win a duel on this machine anyhow.
  Status set_champion(const Batch& batch) {
    if (bench_->champion(batch.task).point == batch.champion.point) return {};
    const double here = bench_->batches().reference_ns(), there = batch.champion_ref_ns;
    const double factor = here > 0 && there > 0 ? here / there : 1;
    BYOC_TRY(std::string artifact, own_copy(batch.champion.artifact));
    bench_->set_champion(batch.task, batch.champion.point, batch.champion_ns * factor,
                         std::move(artifact));
    return {};
  }

  /// Copies an artifact to this machine, so that runs do not wait for the network. "": none.
  Result<std::string> own_copy(const std::string& artifact) {
    if (artifact.empty()) return artifact;
    if (!copies_) {
      BYOC_TRY(copies_, ScratchFolder::make());
    }
    std::string copy = copies_->file(cat("copy", n_copies_++, ".byoc"));
    std::error_code error;
    fs::copy_file(artifact, copy, error);
    if (error) return system_error("cannot copy", artifact, error.value());
    all_copies_.push_back(copy);
    return copy;
  }
  /// Deletes the copies of all points but the best of each task.
  void delete_copies() {
    std::erase_if(all_copies_, [this](const std::string& copy) {
      for (size_t task = 0; task < tasks_.size(); ++task) {
        if (bench_->champion(task).artifact == copy) return false;
      }
      std::error_code ignored;
      fs::remove(copy, ignored);
      return true;
    });
  }

  Status write_state() {
    ++state_.beat;
    last_beat_ = Clock::now();
    return write_file(folder_.state(options_.number), print(state_));
  }

  /// Shows a sign of life. Returns false when this worker is to end.
  bool keep_going() {
    const auto now = Clock::now();
    if (now - last_beat_ < kNodeBeat) return !is_stopped_;
    auto beat = read_file(folder_.tuner());
    if (beat.ok() && *beat != tuner_beat_) {
      tuner_beat_ = *beat;
      tuner_seen_ = now;
    }
    is_stopped_ = exists(folder_.stop()) || exists(folder_.stop(options_.number)) ||
                  !exists(folder_.sitting()) || now - tuner_seen_ > options_.lost_after ||
                  !write_state().ok();
    return !is_stopped_;
  }

  const NodeOptions& options_;
  ExchangeFolder folder_;
  BuildOptions build_;
  std::vector<Task> tasks_;
  std::unique_ptr<LocalBench> bench_;
  std::unique_ptr<ScratchFolder> copies_;
  std::vector<std::string> all_copies_;
  size_t n_copies_ = 0;
  WorkerState state_;
  Clock::time_point last_beat_, tuner_seen_ = Clock::now();
  std::string tuner_beat_;
  bool is_stopped_ = false;
};

}  // namespace

Status serve_node(const NodeOptions& options, std::shared_ptr<const PluginSet> plugins) {
  return NodeWorker(options, std::move(plugins)).run();
}

}  // namespace byoc::tune
