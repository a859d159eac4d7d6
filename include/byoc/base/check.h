// SPDX-License-Identifier: Apache-2.0
#pragma once
// BYOC_CHECK(condition, parts...) is for byoc's own bugs alone. It prints the place, the condition
// and the parts, and aborts; it stays in release builds.
#include "byoc/base/status.h"

namespace byoc {
/// Prints the place, the condition and the message, and stops the process. BYOC_CHECK calls it.
[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const std::string& message);
}  // namespace byoc

#define BYOC_CHECK(condition, ...)                                                    \
  do {                                                                                \
    if (!(condition)) [[unlikely]]                                                    \
      ::byoc::check_failed(__FILE__, __LINE__, #condition, ::byoc::cat(__VA_ARGS__)); \
  } while (false)
