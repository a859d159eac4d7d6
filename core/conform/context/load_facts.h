// SPDX-License-Identifier: Apache-2.0
#pragma once
// What one child has found out, for all of group 2, by loading, opening and closing the plugin.
#include <map>
#include <string>

namespace byoc::conform {

struct LoadFacts {
  std::string defect;  // how the child ended, when it did not finish
  std::string error;   // what loading or the entry failed with
  std::string printed;
  std::map<std::string, std::string> changed;  // "threads" -> what was changed
  double wall_ns = 0;
  uint64_t memory_bytes = 0;
};

}  // namespace byoc::conform
