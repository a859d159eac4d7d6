// SPDX-License-Identifier: Apache-2.0
#include "core/machine/peak_loops.h"

#include <cpuid.h>

#include <algorithm>
#include <chrono>

namespace byoc::machine {
namespace {

constexpr uint64_t kTurns = 1'000'000;
constexpr int kChains = 12, kPeakRuns = 15;

// Assembly, so that the measured instructions are exactly these: per iteration twelve independent
// chains, a decrement and a jump. Registers 12 and 13 hold zeros.
#define EACH_CHAIN(one)                                                                            \
  "1:\n" one("0") one("1") one("2") one("3") one("4") one("5") one("6") one("7") one("8") one("9") \
      one("10") one("11") "dec %0\njnz 1b\nvzeroupper\n"
#define F32_256(k) "vfmadd231ps %%ymm12, %%ymm13, %%ymm" k "\n"
#define F32_512(k) "vfmadd231ps %%zmm12, %%zmm13, %%zmm" k "\n"
#define F16_512(k) "vfmadd231ph %%zmm12, %%zmm13, %%zmm" k "\n"
#define BF16_512(k) "vdpbf16ps %%zmm12, %%zmm13, %%zmm" k "\n"
#define I8_512(k) "vpdpbusd %%zmm12, %%zmm13, %%zmm" k "\n"
// Sums of pairs, then of fours, then onto the chain's sum, as code without VNNI does it.
#define I8_256(k)                          \
  "vpmaddubsw %%ymm12, %%ymm13, %%ymm14\n" \
  "vpmaddwd %%ymm12, %%ymm14, %%ymm15\n"   \
  "vpaddd %%ymm15, %%ymm" k ", %%ymm" k "\n"
#define CLOBBERS                                                                           \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
      "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "cc"
#define RUN(one) asm volatile("vzeroall\n" EACH_CHAIN(one) : "+r"(turns) : : CLOBBERS)

void run(Peak peak, uint64_t turns) {
  switch (peak) {
    case Peak::kF32x256:
      RUN(F32_256);
      return;
    case Peak::kF32x512:
      RUN(F32_512);
      return;
    case Peak::kF16x512:
      RUN(F16_512);
      return;
    case Peak::kBf16x512:
      RUN(BF16_512);
      return;
    case Peak::kI8x256:
      RUN(I8_256);
      return;
    case Peak::kI8x512:
      RUN(I8_512);
      return;
  }
}

double operations_of_chain(Peak peak) {
  switch (peak) {
    case Peak::kF32x256:
      return 2 * 8;
    case Peak::kF32x512:
      return 2 * 16;
    case Peak::kF16x512:
    case Peak::kBf16x512:
      return 2 * 32;
    case Peak::kI8x256:
      return 2 * 32;
    case Peak::kI8x512:
      return 2 * 64;
  }
  return 0;
}

// A register of leaf 7 of cpuid. Its subleaves have the newer instruction sets.
enum Register { kEax, kEbx, kEcx, kEdx };
bool has_bit(unsigned subleaf, Register in, unsigned bit) {
  unsigned words[4] = {};
  if (__get_cpuid_count(7, subleaf, &words[0], &words[1], &words[2], &words[3]) == 0) return false;
  return (words[in] >> bit & 1) != 0;
}

}  // namespace

bool has_avx512() { return __builtin_cpu_supports("avx512f"); }

bool has_peak(Peak peak) {
  switch (peak) {
    case Peak::kF32x256:
      return __builtin_cpu_supports("fma");
    case Peak::kF32x512:
      return has_avx512();
    case Peak::kF16x512:
      return has_avx512() && has_bit(0, kEdx, 23);
    case Peak::kBf16x512:
      return has_avx512() && has_bit(1, kEax, 5);
    case Peak::kI8x256:
      return __builtin_cpu_supports("avx2");
    case Peak::kI8x512:
      return has_avx512() && has_bit(0, kEcx, 11);
  }
  return false;
}

double operations_of(Peak peak) {
  return static_cast<double>(kTurns) * kChains * operations_of_chain(peak);
}

double rate_of(Peak peak) {
  if (!has_peak(peak)) return 0;
  const auto begin = std::chrono::steady_clock::now();
  run(peak, kTurns);
  const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
  return operations_of(peak) / time.count();
}

double fma_peak(bool wide) {
  double best = 0;
  for (int k = 0; k < kPeakRuns; ++k)
    best = std::max(best, rate_of(wide ? Peak::kF32x512 : Peak::kF32x256));
  return best;
}

const char* fma_loop(bool wide) { return wide ? EACH_CHAIN(F32_512) : EACH_CHAIN(F32_256); }

}  // namespace byoc::machine
