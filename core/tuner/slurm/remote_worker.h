// SPDX-License-Identifier: Apache-2.0
#pragma once
// A worker on another machine, as the tuner has it.
#include <chrono>
#include <deque>
#include <optional>

#include "core/tuner/batch/record_facts.h"
#include "core/tuner/slurm/exchange.h"

namespace byoc::tune {

/// Reads the files of one worker. Thread-compatible.
class RemoteWorker {
 public:
  using Clock = std::chrono::steady_clock;
  /// A worker whose batches drift so often in a row is left out.
  static constexpr size_t kMostDrifts = 3;

  RemoteWorker(ExchangeFolder folder, size_t number)
      : folder_(std::move(folder)), number_(number) {}
  size_t number() const { return number_; }
  /// Reads its state and the records that it has appended since the last call.
  std::vector<Record> read();
  /// Returns true once it has written a state.
  bool has_begun() const { return state_.beat > 0; }
  const WorkerState& state() const { return state_; }
  /// Returns the time since its last sign of life, or since its first one when it has none.
  Clock::duration silence() const {
    return has_begun() ? Clock::now() - heard_ : Clock::duration();
  }
  /// Returns why its times do not compare with those of a tuner of these facts; "" when they do.
  std::string difference(const RecordFacts& tuner) const;
  /// Writes a batch for it. Errors: those of writing.
  Status send(const Batch& batch);
  /// Returns the number of the batches sent that it has not measured yet: 0 or 1.
  size_t waiting() const { return sent_ - std::min(sent_, state_.done); }
  /// Records that its last batch is done. Returns true when its machine's speed changed by more
  /// than this part during each of the last kMostDrifts batches.
  bool has_drifted(double most);
  /// Returns the last line that it printed, as ": TEXT"; "" when it printed none.
  std::string last_words() const;

 private:
  ExchangeFolder folder_;
  size_t number_, sent_ = 0, drifts_ = 0;
  WorkerState state_;
  Clock::time_point heard_;
  std::string state_text_;
  size_t read_bytes_ = 0;  // of its records
};

}  // namespace byoc::tune
