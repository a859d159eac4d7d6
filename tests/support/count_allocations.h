#pragma once
#include <cstdint>

namespace byoc::test {

/// Calls of malloc and its kin, operator new included, by any thread since the program began. Link
/// count_allocations.cc into the test's executable.
uint64_t allocations();

}  // namespace byoc::test
