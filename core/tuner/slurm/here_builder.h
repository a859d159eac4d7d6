// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compiles points on the tuner's machine for workers on others.
#include <set>

#include "core/tuner/measure/measure_options.h"
#include "core/tuner/measure/worker_pool.h"
#include "core/tuner/slurm/exchange.h"

namespace byoc::tune {

class HereBuilder {
 public:
  /// `flags`: byoc_compile_flags.
  HereBuilder(ExchangeFolder folder, const MeasureOptions& measure, uint32_t flags);
  /// Compiles the items of a batch and its champion, and sets their artifacts. `failed` gets the
  /// index and the error of each item that cannot be compiled; the champion is left out then.
  /// Errors: those of WorkerPool::finish.
  Status build(Batch& batch, const KeepGoing& keep_going,
               const std::function<void(size_t item, const std::string& error)>& failed);
  /// Deletes the artifacts of a batch's items.
  static void remove(const Batch& batch);

 private:
  ExchangeFolder folder_;
  uint32_t flags_;
  std::chrono::milliseconds limit_;
  size_t artifacts_ = 0;
  std::map<size_t, Batch::Item> champions_;  // by task, the last one that was compiled
  WorkerPool pool_;
};

}  // namespace byoc::tune
