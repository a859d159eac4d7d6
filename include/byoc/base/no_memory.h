// SPDX-License-Identifier: Apache-2.0
#pragma once
// Failed allocations as errors. The public functions that compile, read, write and load call
// or_no_memory, because no exception leaves them.
#include <new>

#include "byoc/base/status.h"

namespace byoc {

/// Returns the error for a failed allocation: kResourceExhausted, slug "no-memory".
inline Status no_memory() {
  return Status(Code::kResourceExhausted, "an allocation failed")
      .with_slug("no-memory")
      .with_help(
          "raise the limit of memory (ulimit -v), end other programs, or use a smaller "
          "model");
}

/// Returns the result of `work`; no_memory() when an allocation fails in it.
template <class Work>
auto or_no_memory(Work&& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return no_memory();
  }
}

}  // namespace byoc
