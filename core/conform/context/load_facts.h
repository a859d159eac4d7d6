// SPDX-License-Identifier: Apache-2.0
#pragma once
// The facts that group 2 checks. One child finds them by loading, opening and closing the plugin.
#include <map>
#include <string>

namespace byoc::conform {

struct LoadFacts {
  std::string defect;  // the way the child ended, when it did not finish
  std::string cure;    // for that
  std::string error;   // of loading or of the entry
  std::string printed;
  std::map<std::string, std::string> changed;  // "threads" -> what was changed
  double wall_ns = 0;
  uint64_t memory_bytes = 0;
};

}  // namespace byoc::conform
