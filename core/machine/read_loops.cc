// SPDX-License-Identifier: Apache-2.0
#include "core/machine/read_loops.h"

namespace byoc::machine {
namespace {

using Word = uint64_t __attribute__((may_alias));

// The body of a loop over vectors of LANES words, once per instruction set: a function has one set
// for all of its code. Four sums, so that no addition waits for another.
#define READ_ALL(LANES)                                                           \
  using Lanes = uint64_t __attribute__((vector_size(8 * LANES), may_alias));      \
  Lanes a{}, b{}, c{}, d{};                                                       \
  for (size_t at = 0; at + 4 * sizeof(Lanes) <= bytes; at += 4 * sizeof(Lanes)) { \
    const auto* lanes = reinterpret_cast<const Lanes*>(data + at);                \
    a += lanes[0], b += lanes[1], c += lanes[2], d += lanes[3];                   \
  }                                                                               \
  a += b + c + d;                                                                 \
  uint64_t out = 0;                                                               \
  for (size_t lane = 0; lane < LANES; ++lane) out += a[lane];                     \
  return out

__attribute__((target("avx512f"))) uint64_t read_512(const char* data, size_t bytes) {
  READ_ALL(8);
}
__attribute__((target("avx2"))) uint64_t read_256(const char* data, size_t bytes) { READ_ALL(4); }
uint64_t read_128(const char* data, size_t bytes) { READ_ALL(2); }

}  // namespace

uint64_t read_all(const char* data, size_t bytes) {
  if (__builtin_cpu_supports("avx512f")) return read_512(data, bytes);
  return __builtin_cpu_supports("avx2") ? read_256(data, bytes) : read_128(data, bytes);
}

uint64_t read_lines(const char* data, size_t bytes) {
  uint64_t a = 0, b = 0, c = 0, d = 0;
  auto word = [&](size_t at) { return *reinterpret_cast<const Word*>(data + at); };
  for (size_t at = 0; at + 4 * kLine <= bytes; at += 4 * kLine)
    a += word(at), b += word(at + kLine), c += word(at + 2 * kLine), d += word(at + 3 * kLine);
  return a + b + c + d;
}

}  // namespace byoc::machine
