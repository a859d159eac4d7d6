// SPDX-License-Identifier: Apache-2.0
#pragma once
// The memory that a session holds, as `--profile` prints it.
#include <nlohmann/json_fwd.hpp>

#include "byoc/runtime/session.h"

namespace byoc::cli {

struct MemoryUse {
  uint64_t packed_bytes = 0;     // weights in plugins' layouts: of this process, shared ones once
  uint64_t arena_bytes = 0;      // one Context's values between steps
  uint64_t workspace_bytes = 0;  // one Context's scratchpads, and values inside regions
  uint64_t constant_bytes = 0;   // weights read as the artifact has them; mapped where it is a file
  uint64_t anonymous_bytes = 0;  // the whole process's, resident now, not backed by a file
  uint64_t file_bytes = 0;  // the same, backed by files: code, and what is read of the artifact
};

MemoryUse memory_use(const Session& session, const Context& context);
std::string memory_line(const MemoryUse& use);
nlohmann::ordered_json to_json(const MemoryUse& use);

}  // namespace byoc::cli
