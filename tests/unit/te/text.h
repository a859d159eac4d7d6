// SPDX-License-Identifier: Apache-2.0
#pragma once
// Applies primitives to schedules, and reads the text of their loops.
#include <gtest/gtest.h>

#include "byoc/te/schedule.h"

#define BYOC_APPLY(call)                              \
  do {                                                \
    Status status_ = (call);                          \
    ASSERT_TRUE(status_.ok()) << status_.to_string(); \
  } while (false)

namespace byoc::te {

/// Returns the loops of a schedule, or the error.
inline std::string text_of(const Schedule& s) {
  Result<LoopFunction> loops = lower(s);
  return loops.ok() ? print(*loops) : loops.status().to_string();
}

inline size_t count(const std::string& text, const std::string& word) {
  size_t out = 0;
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++out;
  return out;
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace byoc::te
