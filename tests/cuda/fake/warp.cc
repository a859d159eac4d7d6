// SPDX-License-Identifier: Apache-2.0
// Instructions of a warp. mma.sync multiplies two tiles and adds a third: each thread has a few
// elements of each, in the places that the PTX ISA gives ("Matrix Fragments for mma.m16n8k16").
// shfl.sync.bfly exchanges registers of threads whose numbers differ in given bits.
#include "fake/numbers.h"

namespace fake_cuda {
namespace {

constexpr int kM = 16, kN = 8, kK = 16;

// Returns element `k` of a fragment whose registers have two 16 bit numbers each.
double element(const Thread& t, const Operand& list, int k, bool is_bf16) {
  const uint64_t pair = t.value(list.list[static_cast<size_t>(k / 2)]);
  const auto bits = static_cast<uint16_t>(k % 2 == 0 ? pair : pair >> 16);
  return is_bf16 ? std::bit_cast<float>(static_cast<uint32_t>(bits) << 16) : half_to_number(bits);
}

void exchange(Thread* threads, const Instruction& i) {
  constexpr uint64_t kMask = 0xffffffff;
  uint64_t all[32];
  for (int lane = 0; lane < 32; ++lane) all[lane] = threads[lane].value(i.operands[1]) & kMask;
  for (uint64_t lane = 0; lane < 32; ++lane) {
    Thread& t = threads[lane];
    if ((t.value(i.operands[3]) & kMask) != 31 || (t.value(i.operands[4]) & kMask) != kMask)
      throw std::runtime_error("an exchange of a part of a warp");
    t.set(i.operands[0], all[(lane ^ t.value(i.operands[2])) & 31]);
  }
}

}  // namespace

void execute_warp(Thread* threads, const Instruction& i) {
  if (i.opcode == "shfl.sync.bfly.b32") return exchange(threads, i);
  if (i.opcode.find(".m16n8k16.row.col.f32.") == std::string::npos)
    throw std::runtime_error("unknown instruction " + i.opcode);
  const bool is_bf16 = i.opcode.find(".bf16.bf16.") != std::string::npos;
  double a[kM][kK], b[kK][kN], c[kM][kN];
  for (int lane = 0; lane < 32; ++lane) {
    const Thread& t = threads[lane];
    const int group = lane / 4, place = lane % 4;
    for (int k = 0; k < 8; ++k) {
      const int row = group + (k % 4 < 2 ? 0 : 8), column = place * 2 + (k & 1) + (k < 4 ? 0 : 8);
      a[row][column] = element(t, i.operands[1], k, is_bf16);
    }
    for (int k = 0; k < 4; ++k)
      b[place * 2 + (k & 1) + (k < 2 ? 0 : 8)][group] = element(t, i.operands[2], k, is_bf16);
    for (int k = 0; k < 4; ++k)
      c[group + (k < 2 ? 0 : 8)][place * 2 + (k & 1)] = std::bit_cast<float>(
          static_cast<uint32_t>(t.value(i.operands[3].list[static_cast<size_t>(k)])));
  }
  for (int m = 0; m < kM; ++m) {
    for (int n = 0; n < kN; ++n) {
      double sum = c[m][n];
      for (int k = 0; k < kK; ++k) sum += a[m][k] * b[k][n];
      c[m][n] = static_cast<float>(sum);
    }
  }
  for (int lane = 0; lane < 32; ++lane) {
    for (int k = 0; k < 4; ++k) {
      const float x = static_cast<float>(c[lane / 4 + (k < 2 ? 0 : 8)][lane % 4 * 2 + (k & 1)]);
      threads[lane].set(i.operands[0].list[static_cast<size_t>(k)], std::bit_cast<uint32_t>(x));
    }
  }
}

}  // namespace fake_cuda
