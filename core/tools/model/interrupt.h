// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ctrl-C in long work: the first cancels work that polls, the second ends the process.
#include "byoc/compile.h"

namespace byoc::driver {

/// Cancelled by the first SIGINT or SIGTERM while work polls it. The first call installs the
/// handlers, for the rest of the process. A signal while nothing polls, and every later one, ends
/// the process at once with exit code 130.
Cancellation& user_cancellation();

/// Work that looks at requested() itself. One at a time; installs the same handlers.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  bool requested() const;
  /// Whether the work looks at requested(); until then a signal ends the process.
  void set_watched(bool watched);
};

}  // namespace byoc::driver
