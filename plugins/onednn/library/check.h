// SPDX-License-Identifier: Apache-2.0
#pragma once
// BYOC_ONEDNN_CHECK(condition, message): an invariant of the plugin; it fails only for defects of
// the plugin. A broken one throws, and the SDK makes the exception a status with the code
// BYOC_INTERNAL, the file and the line: the process goes on. Graphs that cannot be run get a
// Refusal instead.
#include <cstdint>
#include <string>
#include <string_view>

#include "byoc/plugin/sdk/error.h"

namespace byoc::onednn {

[[noreturn]] inline void check_failed(std::string_view condition, std::string_view message,
                                      const char* file, uint32_t line) {
  std::string_view name = file;
  name.remove_prefix(name.find_last_of('/') + 1);  // 0 when there is no '/'
  throw sdk::Error(BYOC_INTERNAL,
                   std::string(name) + ":" + std::to_string(line) + ": broken invariant: " +
                       std::string(message) + " (" + std::string(condition) + ")",
                   -1, -1, file, line);
}

}  // namespace byoc::onednn

/// `message` states the invariant, "gather has two operands"; it is evaluated only on failure.
#define BYOC_ONEDNN_CHECK(condition, message)                                  \
  do {                                                                         \
    if (!(condition)) [[unlikely]]                                             \
      ::byoc::onednn::check_failed(#condition, (message), __FILE__, __LINE__); \
  } while (false)
