// SPDX-License-Identifier: Apache-2.0
#include "core/tools/model/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace byoc::driver {
namespace {

constexpr std::chrono::milliseconds kPause{100}, kPlainPause{10'000};

size_t terminal_width() {
  winsize size{};
  bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return known ? size.ws_col : 80;
}

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

Progress::Progress(const cli::CommonOptions& common)
    : quiet_(common.quiet),
      terminal_(isatty(STDERR_FILENO) == 1),
      begin_(Clock::now()),
      next_(begin_ + (terminal_ ? kPause : kPlainPause)) {}

void Progress::show(std::string_view what, uint64_t done, uint64_t total) {
  if (quiet_ || Clock::now() < next_) return;
  next_ = Clock::now() + (terminal_ ? kPause : kPlainPause);
  std::string line = total ? cat(100 * done / total, " %  ", what) : std::string(what);
  line += cat("  ", (Clock::now() - begin_) / std::chrono::seconds(1), " s");
  if (!terminal_) return print(line + "\n");
  line.resize(std::min(line.size(), terminal_width() - 1));
  print(cat("\r\x1b[K", line));
  shown_ = true;
}

void Progress::clear() {
  if (shown_) print("\r\x1b[K");
  shown_ = false;
}

CompileProgress::CompileProgress(Cancellation& cancellation, const cli::CommonOptions& common)
    : cancellation_(cancellation), progress_(common) {
  cancellation_.set_progress(
      [this](uint32_t permille, std::string_view what) { progress_.show(what, permille, 1000); });
}

CompileProgress::~CompileProgress() {
  cancellation_.set_progress(nullptr);
  progress_.clear();
}

}  // namespace byoc::driver
