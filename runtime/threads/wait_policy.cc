// SPDX-License-Identifier: Apache-2.0
#include "runtime/threads/wait_policy.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

namespace byoc {
namespace {

/// Returns the number of processes that run now beside this one, from "0.20 0.18 0.12 3/80 11206"
/// in /proc/loadavg, where it is one of 3.
long running_others() {
  char text[128] = {};
  const int fd = ::open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const bool is_read = ::read(fd, text, sizeof text - 1) > 0;
  ::close(fd);
  const char* slash = is_read ? std::strchr(text, '/') : nullptr;
  if (slash == nullptr) return 0;
  while (slash > text && slash[-1] != ' ') --slash;
  return std::strtol(slash, nullptr, 10) - 1;
}

// The parent of this process, or what reads its output, may still be starting: a busy machine is
// one that is busy each time.
constexpr int kTimes = 10;
constexpr auto kPause = std::chrono::milliseconds(10);

bool is_busy() {
  for (int k = 0; k < kTimes; ++k) {
    if (k > 0) std::this_thread::sleep_for(kPause);
    if (2 * running_others() < ::sysconf(_SC_NPROCESSORS_ONLN)) return false;
  }
  return true;
}

}  // namespace

void sleep_beside_others(char** argv) {
  bool has_threads = false;
  for (char** arg = argv; *arg != nullptr; ++arg)
    has_threads |= std::string_view(*arg).starts_with("--threads");
  if (!has_threads || std::getenv("GOMP_SPINCOUNT") || std::getenv("OMP_WAIT_POLICY")) return;
  if (!is_busy()) return;
  if (::setenv("GOMP_SPINCOUNT", "0", 1) == 0) ::execv("/proc/self/exe", argv);
}

}  // namespace byoc
