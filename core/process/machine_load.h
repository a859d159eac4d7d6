// SPDX-License-Identifier: Apache-2.0
#pragma once
// Other work on this machine during a measurement, by the clocks of the kernel.
#include <cstdint>
#include <string>

namespace byoc::process {

/// Processor time until one moment, in seconds. 0 where the kernel does not count it.
struct ProcessorTimes {
  uint32_t processors = 0;  // of the machine
  double wall_s = 0, machine_s = 0,
         own_s = 0;     // machine_s: of all processors; own_s: of this process
  double waited_s = 0;  // the main thread was ready and had no processor
};
/// Reads the clocks; `proc` is the folder of the kernel's files. Cost: some 20 us.
ProcessorTimes processor_times(const std::string& proc = "/proc");

/// Other work between two moments.
struct OtherLoad {
  uint32_t processors = 0;
  double others = 0;  // processors that other work used on average, also that of other guests
  double waited = 0;  // the share of the time in which this process waited for a processor
  /// True when times between the moments mean little.
  bool is_busy() const;
  /// Returns "other work used 1.7 of 2 processors, and this process waited 38 % of the time".
  std::string text() const;
};
OtherLoad load_between(const ProcessorTimes& before, const ProcessorTimes& after);

}  // namespace byoc::process
