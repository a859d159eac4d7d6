// SPDX-License-Identifier: Apache-2.0
#pragma once
// Allocations of a test's process: how many there are, and which libraries begin them. Link
// allocations.cc into the test's executable.
#include <cstdint>
#include <map>
#include <string>

namespace byoc::test {

/// Calls of malloc and its kin, operator new included, by any thread since the program began.
uint64_t allocations();

/// Counts the allocations of all threads by origin while it lives; at most one lives at a time.
/// An allocation begins in the library of the innermost frame that is not the allocator's or
/// the language runtime's own: code that is inlined from another library's headers counts where
/// it was inlined.
class AllocationOrigins {
 public:
  AllocationOrigins();
  ~AllocationOrigins();
  AllocationOrigins(const AllocationOrigins&) = delete;
  AllocationOrigins& operator=(const AllocationOrigins&) = delete;
  /// Stops counting. File name of the library ("libdnnl.so.2", the executable's own
  /// name) -> allocations.
  std::map<std::string, uint64_t> stop();
};

}  // namespace byoc::test
