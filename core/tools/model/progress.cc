// SPDX-License-Identifier: Apache-2.0
#include "core/tools/model/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace byoc::driver {
namespace {

constexpr std::chrono::milliseconds kPause{100}, kPlainPause{10'000};
constexpr size_t kBarWidth = 20;
constexpr double kLeastSeconds = 2;  // an estimate from less time is a guess

size_t terminal_width() {
  winsize size{};
  bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return known ? size.ws_col : 80;
}

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

uint64_t done_of(const Progressed& p) { return std::min(p.done, p.total); }

std::string duration(double seconds) {
  auto s = static_cast<uint64_t>(seconds);
  return s < 120 ? cat(s, " s") : cat(s / 60, " min ", s % 60, " s");
}

/// Returns "  25 %"; "" when the total is unknown.
std::string share(const Progressed& p) {
  if (p.total == 0) return "";
  std::string percent = cat(static_cast<uint64_t>(100.0 * static_cast<double>(done_of(p)) /
                                                  static_cast<double>(p.total)));
  return std::string(3 - std::min<size_t>(percent.size(), 3), ' ') + percent + " %  ";
}

/// Returns what is done, the time, and the time left.
std::string work(const Progressed& p) {
  std::string text(p.what);
  for (char& c : text) c = static_cast<unsigned char>(c) < ' ' ? ' ' : c;  // it may be a plugin's
  text += "  " + duration(p.seconds);
  if (p.total == 0 || p.done == 0 || p.phase_seconds < kLeastSeconds) return text;
  double rest = static_cast<double>(p.total - done_of(p)) / static_cast<double>(p.done);
  return text + cat(", about ", duration(std::ceil(p.phase_seconds * rest)), " left");
}

}  // namespace

std::string bar_line(const Progressed& p, size_t width) {
  std::string line;
  if (p.total != 0) {
    size_t full =
        static_cast<size_t>(static_cast<double>(kBarWidth) * static_cast<double>(done_of(p)) /
                            static_cast<double>(p.total));
    line = cat("[", std::string(full, '#'), std::string(kBarWidth - full, '.'), "] ");
  }
  line += share(p) + work(p);
  line.resize(std::min(line.size(), width));
  return line;
}

std::string plain_line(const Progressed& p) {
  std::string text = share(p);
  return text.substr(std::min(text.find_first_not_of(' '), text.size())) + work(p);
}

Progress::Progress(const cli::CommonOptions& common)
    : quiet_(common.quiet),
      terminal_(isatty(STDERR_FILENO) == 1),
      begin_(Clock::now()),
      phase_(begin_),
      next_(begin_ + (terminal_ ? kPause : kPlainPause)) {}

void Progress::show(std::string_view what, uint64_t done, uint64_t total) {
  Clock::time_point now = Clock::now();
  if (done == 0 || done < last_done_) phase_ = now;
  last_done_ = done;
  if (quiet_ || now < next_) return;
  next_ = now + (terminal_ ? kPause : kPlainPause);
  auto seconds = [&](Clock::time_point since) {
    return std::chrono::duration<double>(now - since).count();
  };
  Progressed progressed{what, done, total, seconds(begin_), seconds(phase_)};
  if (!terminal_) return print(plain_line(progressed) + "\n");
  print(cat("\r\x1b[K", bar_line(progressed, terminal_width() - 1)));
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
