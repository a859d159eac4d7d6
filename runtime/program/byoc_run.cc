// SPDX-License-Identifier: Apache-2.0
// `byoc-run`: the runtime alone. It requires only its executable, the plugins that compiled the
// artifact, and the artifact.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

#include "byoc/host/plugins.h"
#include "runtime/program/program.h"

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

/// Lets threads of OpenMP sleep when they wait, instead of spin, where others need the cores: a
/// thread that spins keeps the one it waits for from its core. A choice of the user stays. libgomp
/// reads the variable when it is loaded, so the program begins again. Returns without need.
void sleep_beside_others(char** argv) {
  bool has_threads = false;
  for (char** arg = argv; *arg != nullptr; ++arg)
    has_threads |= std::string_view(*arg).starts_with("--threads");
  if (!has_threads || std::getenv("GOMP_SPINCOUNT") || std::getenv("OMP_WAIT_POLICY")) return;
  if (2 * running_others() < ::sysconf(_SC_NPROCESSORS_ONLN)) return;
  if (::setenv("GOMP_SPINCOUNT", "0", 1) == 0) ::execv("/proc/self/exe", argv);
}

}  // namespace

int main(int argc, char** argv) {
  sleep_beside_others(argv);
  byoc::cli::ProgramFlags flags;
  byoc::cli::Command root = byoc::cli::program_command(flags);
  int code = byoc::cli::run_command_line(root, flags.common, argc, argv);
  byoc::shutdown_plugins();
  return code;
}
