// SPDX-License-Identifier: Apache-2.0
#pragma once
// How far long work is, on stderr: a line that is written over on a terminal, else one every ten
// seconds.
#include <chrono>
#include <string_view>

#include "byoc/compile.h"
#include "runtime/cli/command.h"

namespace byoc::driver {

class Progress {
 public:
  explicit Progress(const cli::CommonOptions& common);
  /// total 0: unknown.
  void show(std::string_view what, uint64_t done, uint64_t total);
  /// Before anything else is printed.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  bool quiet_, terminal_, shown_ = false;
  Clock::time_point next_;
};

/// While it lives, what plugins report through `cancellation` while they compile is shown.
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
