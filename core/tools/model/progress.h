// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shows the progress of long work on stderr: a line that is overwritten on a terminal, otherwise a
// line every ten seconds.
#include <chrono>
#include <string_view>

#include "byoc/compile.h"
#include "runtime/cli/command.h"

namespace byoc::driver {

class Progress {
 public:
  explicit Progress(const cli::CommonOptions& common);
  /// Shows that `done` of `total` is done; with total 0 the total is unknown.
  void show(std::string_view what, uint64_t done, uint64_t total);
  /// Removes the line. Call it before anything else is printed.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  bool quiet_, terminal_, shown_ = false;
  Clock::time_point begin_, next_;
};

/// Shows the progress that plugins report through `cancellation` while they compile, during the
/// lifetime of this object.
class CompileProgress {
 public:
  CompileProgress(Cancellation& cancellation, const cli::CommonOptions& common);
  CompileProgress(const CompileProgress&) = delete;
  CompileProgress& operator=(const CompileProgress&) = delete;
  ~CompileProgress();

 private:
  Cancellation& cancellation_;
  Progress progress_;
};

}  // namespace byoc::driver
