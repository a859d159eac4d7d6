// SPDX-License-Identifier: Apache-2.0
#include "core/conform/process/process_state.h"

#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cfenv>
#include <clocale>
#include <cstring>
#include <filesystem>
#include <fstream>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "byoc/base/status.h"

namespace byoc::conform {
namespace {

constexpr int kSignals = 64;

uint64_t count_threads() {
  std::error_code error;
  std::filesystem::directory_iterator tasks("/proc/self/task", error);
  return static_cast<uint64_t>(std::distance(begin(tasks), end(tasks)));
}

uint64_t resident_bytes() {
  uint64_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

/// Returns the name of the first variable that is in one list and not in the other.
std::string first_difference(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::vector<std::string> only;
  std::set_symmetric_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(only));
  return only.empty() ? "" : only[0].substr(0, only[0].find('='));
}

}  // namespace

uint64_t float_mode() {
  uint64_t mode = static_cast<uint64_t>(std::fegetround());
#if defined(__x86_64__)
  constexpr unsigned kExceptionFlags = 0x3f;  // which any arithmetic may raise
  mode |= uint64_t{_mm_getcsr() & ~kExceptionFlags} << 32;
#endif
  return mode;
}

HeldMemory held_memory() {
  const auto heap = ::mallinfo2();
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return {heap.uordblks + heap.hblkhd, pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE))};
}

ProcessState read_process_state() {
  ProcessState now;
  now.threads = count_threads();
  now.memory_bytes = resident_bytes();
  for (char** at = environ; at && *at; ++at) now.environment.emplace_back(*at);
  std::sort(now.environment.begin(), now.environment.end());
  std::error_code error;
  now.folder = std::filesystem::current_path(error).string();
  now.locale = std::setlocale(LC_ALL, nullptr);
  sigset_t mask;
  sigprocmask(SIG_SETMASK, nullptr, &mask);
  for (int s = 1; s <= kSignals; ++s) {
    struct sigaction action {};
    sigaction(s, nullptr, &action);
    now.handlers.push_back(reinterpret_cast<uint64_t>(action.sa_handler));
    now.blocked.push_back(sigismember(&mask, s) == 1);
  }
  now.float_mode = float_mode();
  return now;
}

std::map<std::string, std::string> differences(const ProcessState& before,
                                               const ProcessState& after) {
  std::map<std::string, std::string> out;
  if (after.threads > before.threads) {
    uint64_t n = after.threads - before.threads;
    out["threads"] = cat("leaves ", n, n == 1 ? " thread" : " threads", " running");
  }
  if (before.environment != after.environment) {
    out["environment"] = cat("changes the environment variable ",
                             first_difference(before.environment, after.environment));
  }
  if (before.folder != after.folder)
    out["folder"] = cat("changes the current folder from ", before.folder, " to ", after.folder);
  if (before.locale != after.locale)
    out["locale"] = cat("changes the locale from ", before.locale, " to ", after.locale);
  for (int s = 0; s < kSignals && !out.contains("signals"); ++s) {
    bool handler = before.handlers[s] != after.handlers[s];
    if (!handler && before.blocked[s] == after.blocked[s]) continue;
    out["signals"] = cat(handler ? "changes the handler of signal " : "blocks or unblocks signal ",
                         s + 1, " (", strsignal(s + 1), ")");
  }
  if (before.float_mode != after.float_mode)
    out["floats"] = "changes the floating-point mode (rounding, or how denormals are treated)";
  return out;
}

}  // namespace byoc::conform
