// SPDX-License-Identifier: Apache-2.0
#include "core/tools/measure/fma_peak.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace byoc::driver {
namespace {

constexpr uint64_t kTurns = 2'000'000;
constexpr int kChains = 12, kRuns = 15;

// Assembly, so that the measured instructions are exactly these: per iteration twelve independent
// FMAs, a decrement and a jump. Registers 12 and 13 hold zeros.
#define CHAINS(bits)                                    \
  "1:\n"                                                \
  "vfmadd231ps %%" bits "mm12, %%" bits "mm13, %%" bits \
  "mm0\n"                                               \
  "vfmadd231ps %%" bits "mm12, %%" bits "mm13, %%" bits \
  "mm1\n"                                               \
  "vfmadd231ps %%" bits "mm12, %%" bits "mm13, %%" bits \
  "mm2\n"                                               \
  "vfmadd231ps %%" bits "mm12, %%" bits "mm13, %%" bits \
  "mm3\n"                                               \
  "vfmadd231ps %%" bits "mm12, %%" bits "mm13, %%" bits \
  "mm4\n"                                               \
  "vfmadd231ps %%" bits "mm12, %%" bits "mm13, %%" bits \
  "mm5\n"                                               \
  "vfmadd231ps %%" bits "mm12, %%" bits "mm13, %%" bits \
  "mm6\n"                                               \
  "vfmadd231ps %%" bits "mm12, %%" bits "mm13, %%" bits \
  "mm7\n"                                               \
  "vfmadd231ps %%" bits "mm12, %%" bits "mm13, %%" bits \
  "mm8\n"                                               \
  "vfmadd231ps %%" bits "mm12, %%" bits "mm13, %%" bits \
  "mm9\n"                                               \
  "vfmadd231ps %%" bits "mm12, %%" bits "mm13, %%" bits \
  "mm10\n"                                              \
  "vfmadd231ps %%" bits "mm12, %%" bits "mm13, %%" bits \
  "mm11\n"                                              \
  "dec %0\n"                                            \
  "jnz 1b\n"                                            \
  "vzeroupper\n"
#define CLOBBERS                                                                           \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
      "xmm11", "xmm12", "xmm13", "cc"

void run_256(uint64_t turns) { asm volatile("vzeroall\n" CHAINS("y") : "+r"(turns) : : CLOBBERS); }
void run_512(uint64_t turns) { asm volatile("vzeroall\n" CHAINS("z") : "+r"(turns) : : CLOBBERS); }

}  // namespace

bool has_avx512() { return __builtin_cpu_supports("avx512f"); }

const char* fma_loop(bool wide) { return wide ? CHAINS("z") : CHAINS("y"); }

double fma_flops(bool wide) { return static_cast<double>(kTurns) * kChains * 2 * (wide ? 16 : 8); }

double fma_rate(bool wide) {
  if (wide ? !has_avx512() : !__builtin_cpu_supports("fma")) return 0;
  auto begin = std::chrono::steady_clock::now();
  wide ? run_512(kTurns) : run_256(kTurns);
  std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
  return fma_flops(wide) / time.count();
}

double fma_peak(bool wide) {
  double best = 0;
  for (int run = 0; run < kRuns; ++run) best = std::max(best, fma_rate(wide));
  return best;
}

}  // namespace byoc::driver
