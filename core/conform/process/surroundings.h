#pragma once
// The state of a process that plugins must leave alone.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace byoc::conform {

struct Surroundings {
  uint64_t threads = 0, memory_bytes = 0;
  std::vector<std::string> environment;
  std::string folder, locale;
  std::vector<uint64_t> handlers;  // per signal
  std::vector<bool> blocked;
  uint64_t float_mode = 0;
};
Surroundings look_around();
/// Rounding, and how denormals are treated; the flags of what arithmetic raised are left out.
uint64_t float_mode();
/// By aspect, what changed: "threads" -> "starts 1 thread".
std::map<std::string, std::string> differences(const Surroundings& before,
                                               const Surroundings& after);

}  // namespace byoc::conform
