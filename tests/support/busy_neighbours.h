// SPDX-License-Identifier: Apache-2.0
#pragma once
// Other processes that need the cores.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <vector>

namespace byoc::test {

/// Processes that use all cores while it exists.
class BusyNeighbours {
 public:
  BusyNeighbours() {
    for (long k = 0; k < 2 * ::sysconf(_SC_NPROCESSORS_ONLN); ++k) {
      const pid_t child = ::fork();
      if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (volatile bool go = true; go;) {
        }
      }
      children_.push_back(child);
    }
  }
  ~BusyNeighbours() {
    for (pid_t child : children_) {
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
    }
  }

 private:
  std::vector<pid_t> children_;
};

}  // namespace byoc::test
