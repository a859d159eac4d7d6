// SPDX-License-Identifier: Apache-2.0
#pragma once
// The clocks that all measurements read, and the speed of the machine at the moment. A test gives
// clocks of its own.
#include <functional>

namespace byoc::measure {

/// Returns the ns of the steady clock.
double real_wall_ns();
/// Returns the ns that this thread has run.
double real_thread_ns();

/// Two clocks that count ns from any moment.
struct Clock {
  std::function<double()> wall_ns = real_wall_ns;
  std::function<double()> thread_ns = real_thread_ns;  ///< of the calling thread
};

/// Replaces the contents of this machine's caches by those of a buffer, which stays allocated.
void empty_caches();

/// Returns the ns of a pass of a loop of multiplications and additions over memory of the first
/// cache: the smallest of several. It changes when the machine has become slower or faster.
double reference_loop_ns();

}  // namespace byoc::measure
