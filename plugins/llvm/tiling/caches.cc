// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/tiling/caches.h"

#include <algorithm>
#include <numeric>

namespace byoc::llvm_plugin::topi {
namespace {

constexpr int64_t kPageBytes = 4096;

}  // namespace

ReadRates read_rates(const te::Target& target) {
  ReadRates out;
  out.l2 = std::max(out.l2, target.vector_bits / 8.0);
  return out;
}

bool has_conflicts(int64_t count, int64_t step, int64_t l1_bytes) {
  if (step == 0) return false;
  const int64_t starts = kPageBytes / std::gcd(step, kPageBytes);  // distinct ones
  return (count + starts - 1) / starts > l1_bytes / kPageBytes;
}

}  // namespace byoc::llvm_plugin::topi
