// SPDX-License-Identifier: Apache-2.0
#pragma once
// The folder through which the tuner and the workers on other machines exchange points and times.
// All machines see it under the same path.
//   sitting.json         what every worker reads first
//   task-K/              the tasks, as replay folders, with the file space.json
//   to-W-N.json          batch N of worker W, from 1 on; the tuner writes it
//   records-W.jsonl      a log of all measurements of worker W
//   state-W.json         its state, written again at least every few seconds
//   tuner                changes every few seconds as long as the tuner works
//   stop, stop-W         all workers are to end; worker W is
// Files are replaced as a whole, but for the logs, which grow by whole lines.
#include "byoc/tune/record.h"
#include "byoc/tune/task.h"
#include "core/tuner/measure/measure_options.h"

namespace byoc::tune {

/// The names of the files.
class ExchangeFolder {
 public:
  explicit ExchangeFolder(std::string path) : path_(std::move(path)) {}
  const std::string& path() const { return path_; }
  std::string sitting() const { return cat(path_, "/sitting.json"); }
  std::string task(size_t k) const { return cat(path_, "/task-", k); }
  std::string batch(size_t worker, size_t n) const {
    return cat(path_, "/to-", worker, "-", n, ".json");
  }
  std::string records(size_t worker) const { return cat(path_, "/records-", worker, ".jsonl"); }
  std::string state(size_t worker) const { return cat(path_, "/state-", worker, ".json"); }
  std::string printed(size_t worker) const { return cat(path_, "/worker-", worker, ".txt"); }
  std::string stop() const { return cat(path_, "/stop"); }
  std::string stop(size_t worker) const { return cat(path_, "/stop-", worker); }
  std::string tuner() const { return cat(path_, "/tuner"); }

 private:
  std::string path_;
};

/// The options of a sitting, which every worker reads first.
struct SittingFile {
  std::string target_json;
  uint32_t threads = 1;
  std::string options;  ///< function_options_json (byoc/options.h)
  size_t tasks = 0;
  MeasureOptions measure;  ///< without program and flags; builders 0: by the worker's machine
};

/// Points of one task for one worker.
struct Batch {
  struct Item {
    Point point;
    std::string artifact;  ///< its file; "": the worker compiles it
    friend bool operator==(const Item&, const Item&) = default;
  };
  size_t task = 0;
  std::vector<Item> items;
  Item champion;                                ///< the best point so far; an empty point: none
  double champion_ns = 0, champion_ref_ns = 0;  ///< its times of a run and of the reference loop
  friend bool operator==(const Batch&, const Batch&) = default;
};

/// The state of a worker.
struct WorkerState {
  uint64_t beat = 0;  ///< is larger in each file
  int64_t pid = 0;
  std::string host;                             ///< the name that Slurm has for its machine
  std::string machine, target;                  ///< as in Record
  std::map<std::string, std::string> versions;  ///< of the plugins of the tasks
  size_t done = 0;                              ///< batches, whose records are all in its log
  Point champion;                               ///< of the last batch's task
  double champion_ns = 0;
  double ref_ns = 0, drift = 0;                ///< of the reference loop; as SteadyBatches::drift
  std::map<std::string, std::string> defects;  ///< reasons, by the number of the task
  std::string error;                           ///< the reason why it has ended; "": it has not
  friend bool operator==(const WorkerState&, const WorkerState&) = default;
};

std::string print(const SittingFile& sitting);
std::string print(const Batch& batch);
std::string print(const WorkerState& state);
/// Errors: kInvalidArgument naming the member that is missing or of another kind.
Result<SittingFile> parse_sitting(std::string_view text);
Result<Batch> parse_batch(std::string_view text);
Result<WorkerState> parse_state(std::string_view text);

/// Writes a task for a worker. Errors: those of writing.
Status write_task(const Task& task, const BuildOptions& build, const MeasureOptions& measure,
                  const std::string& folder);
/// Reads what write_task wrote. Names of the model and counts of calls are not in it. Errors: those
/// of read_replay and parse_space.
Result<Task> read_task(const std::string& folder);

}  // namespace byoc::tune
