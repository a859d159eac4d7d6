// SPDX-License-Identifier: Apache-2.0
#pragma once
// The state of this process, which plugins must not change.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace byoc::conform {

struct ProcessState {
  uint64_t threads = 0, memory_bytes = 0;
  std::vector<std::string> environment;
  std::string folder, locale;
  std::vector<uint64_t> handlers;  // per signal
  std::vector<bool> blocked;
  uint64_t float_mode = 0;
};
ProcessState read_process_state();
/// Returns the rounding mode and the treatment of denormals, without the flags of exceptions.
uint64_t float_mode();
/// Memory that this process holds.
struct HeldMemory {
  uint64_t heap_bytes = 0;    // of malloc, in use
  uint64_t mapped_bytes = 0;  // of address space
};
HeldMemory held_memory();
/// Describes each change by its aspect: "threads" -> "leaves 1 thread running".
std::map<std::string, std::string> differences(const ProcessState& before,
                                               const ProcessState& after);

}  // namespace byoc::conform
