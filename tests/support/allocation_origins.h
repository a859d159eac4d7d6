#pragma once
// Who begins allocations: for kernels that call a library which allocates.
#include <map>
#include <string>

namespace byoc::test {

/// Counts allocations of all threads while one lives. An allocation begins in the library of the
/// innermost frame that is not the allocator's or the language runtime's own: what code inlined
/// from another library's headers allocates begins where it was inlined. One at a time; link
/// allocation_origins.cc into the test's executable.
class AllocationOrigins {
 public:
  AllocationOrigins();
  ~AllocationOrigins();
  AllocationOrigins(const AllocationOrigins&) = delete;
  /// File name of the library ("libdnnl.so.2", the executable's own name) -> allocations.
  std::map<std::string, uint64_t> stop();
};

}  // namespace byoc::test
