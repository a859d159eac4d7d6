// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shows the progress of long work on stderr: a bar that is overwritten on a terminal, otherwise a
// line every ten seconds.
#include <chrono>
#include <string>
#include <string_view>

#include "byoc/compile.h"
#include "runtime/cli/command.h"

namespace byoc::driver {

/// The state of some work.
struct Progressed {
  std::string_view what;
  uint64_t done = 0, total = 0;  // total 0: unknown
  double seconds = 0;            // since the work began
  double phase_seconds = 0;      // since `done` was last 0 or fell, for the estimate
};
/// Returns "[#####...............]  25 %  compiling  10 s, about 30 s left", cut to `width`
/// columns; without a total no bar, no share and no estimate.
std::string bar_line(const Progressed& progressed, size_t width);
/// Returns the same without the bar, for logs.
std::string plain_line(const Progressed& progressed);

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
  uint64_t last_done_ = 0;
  Clock::time_point begin_, phase_, next_;
};

/// Shows the progress that plugins report through `cancellation` while they compile, during the
/// lifetime of this object.
class CompileProgress {
 public:
  CompileProgress(Cancellation& cancellation, const cli::CommonOptions& common);
  CompileProgress(const CompileProgress&) = delete;
  CompileProgress& operator=(const CompileProgress&) = delete;
  ~CompileProgress();
  /// Shows work of which no progress is reported.
  void show(std::string_view what) { progress_.show(what, 0, 0); }
  /// Removes the line. Call it before anything else is printed.
  void clear() { progress_.clear(); }

 private:
  Cancellation& cancellation_;
  Progress progress_;
};

}  // namespace byoc::driver
