// SPDX-License-Identifier: Apache-2.0
#include "fake/conversions.h"

#include <algorithm>

#include "fake/numbers.h"

namespace fake_cuda {

// mov of one value, and of vectors of halves: {lo, hi} = x and x = {lo, hi}.
void move(Thread& t, const Instruction& i) {
  const Operand &to = i.operands[0], &from = i.operands[1];
  if (!to.list.empty()) {
    const int bits = i.type.bits / static_cast<int>(to.list.size());
    const uint64_t all = t.value(from);
    for (size_t k = 0; k < to.list.size(); ++k)
      if (to.list[k].kind == Operand::kRegister)
        t.set(to.list[k], all >> (static_cast<int>(k) * bits) & mask_of(bits));
  } else if (!from.list.empty()) {
    const int bits = i.type.bits / static_cast<int>(from.list.size());
    uint64_t all = 0;
    for (size_t k = 0; k < from.list.size(); ++k)
      all |= (t.value(from.list[k]) & mask_of(bits)) << (static_cast<int>(k) * bits);
    t.set(to, all);
  } else {
    t.set(to, t.value(from) + (from.kind == Operand::kVariable ? from.number : 0));
  }
}

namespace {

std::vector<Operand> parts_of(const Operand& x) { return x.list.empty() ? std::vector{x} : x.list; }

}  // namespace

void load(Thread& t, const Instruction& i) {
  const uint64_t size = static_cast<uint64_t>(i.type.bits) / 8,
                 count = std::max<uint64_t>(i.operands[0].list.size(), 1);
  const uint64_t address = t.address(i.operands[1]);
  if (address % (size * count) != 0) throw std::out_of_range("a misaligned address");
  for (uint64_t k = 0; k < count; ++k) {
    uint64_t bits = 0;
    std::memcpy(&bits, t.bytes_at(i.space, address + k * size, size), size);
    if (i.type.is_signed()) bits = static_cast<uint64_t>(extended(bits, i.type));
    t.set(count == 1 && i.operands[0].list.empty() ? i.operands[0] : i.operands[0].list[k], bits);
  }
}

void store(Thread& t, const Instruction& i) {
  const uint64_t size = static_cast<uint64_t>(i.type.bits) / 8;
  const uint64_t address = t.address(i.operands[0]);
  const std::vector<Operand> parts = parts_of(i.operands[1]);
  if (address % (size * parts.size()) != 0) throw std::out_of_range("a misaligned address");
  for (uint64_t k = 0; k < parts.size(); ++k) {
    const uint64_t bits = t.value(parts[k]);
    std::memcpy(t.bytes_at(i.space, address + k * size, size), &bits, size);
  }
}

namespace {

double rounded(double x, const std::string& how) {
  if (how.starts_with("rni")) return std::nearbyint(x);
  if (how.starts_with("rzi")) return std::trunc(x);
  if (how.starts_with("rmi")) return std::floor(x);
  if (how.starts_with("rpi")) return std::ceil(x);
  return x;
}

// Numbers outside of the range become its end, and NaN 0.
uint64_t whole_of(double x, const Type& type, const std::string& how) {
  x = rounded(x, how.empty() ? "rzi" : how);
  if (std::isnan(x)) return 0;
  const int bits = type.bits;
  if (type.is_signed()) {
    const double limit = std::ldexp(1, bits - 1);
    if (x >= limit) return mask_of(bits - 1);
    if (x < -limit) return uint64_t{1} << (bits - 1);
    return static_cast<uint64_t>(static_cast<int64_t>(x)) & mask_of(bits);
  }
  if (x <= 0) return 0;
  return x >= std::ldexp(1, bits) ? mask_of(bits) : static_cast<uint64_t>(x);
}

}  // namespace

void convert(Thread& t, const Instruction& i) {
  const uint64_t x = t.value(i.operands[1]);
  uint64_t out = 0;
  if (i.from.is_float()) {
    const double real = number_of(x, i.from);
    out =
        i.type.is_float() ? bits_of(rounded(real, i.word), i.type) : whole_of(real, i.type, i.word);
  } else if (i.type.is_float()) {
    const int64_t whole = extended(x, i.from);
    if (i.type.bits == 32)  // in one rounding
      out = std::bit_cast<uint32_t>(i.from.is_signed()
                                        ? static_cast<float>(whole)
                                        : static_cast<float>(static_cast<uint64_t>(whole)));
    else
      out = bits_of(i.from.is_signed() ? static_cast<double>(whole)
                                       : static_cast<double>(static_cast<uint64_t>(whole)),
                    i.type);
  } else {
    out = static_cast<uint64_t>(extended(x, i.from)) & mask_of(i.type.bits);
  }
  t.set(i.operands[0], out);
}

// Generic addresses of global memory are the addresses themselves.
void convert_address(Thread& t, const Instruction& i) {
  const bool is_to = i.opcode.find(".to.") != std::string::npos;
  const uint64_t window = i.space == Space::kShared  ? kSharedWindow
                          : i.space == Space::kLocal ? kLocalWindow
                                                     : 0;
  const uint64_t x = t.value(i.operands[1]);
  t.set(i.operands[0], is_to ? x - window : x + window);
}

// prmt: four bytes out of eight, by nibbles of c; the top bit of a nibble repeats the byte's sign.
void permute(Thread& t, const Instruction& i) {
  const uint64_t pair =
      (t.value(i.operands[2]) & 0xffffffff) << 32 | (t.value(i.operands[1]) & 0xffffffff);
  const uint64_t by = t.value(i.operands[3]);
  uint64_t out = 0;
  for (int k = 0; k < 4; ++k) {
    const uint64_t nibble = by >> (4 * k) & 15;
    uint64_t byte = pair >> (8 * (nibble & 7)) & 255;
    if ((nibble & 8) != 0) byte = (byte & 128) != 0 ? 255 : 0;
    out |= byte << (8 * k);
  }
  t.set(i.operands[0], out);
}

void extract_bits(Thread& t, const Instruction& i) {
  const uint64_t x = t.value(i.operands[1]) & mask_of(i.type.bits);
  const uint64_t at = t.value(i.operands[2]) & 255, count = t.value(i.operands[3]) & 255;
  if (count == 0) return t.set(i.operands[0], 0);
  const Type part{i.type.kind, static_cast<int>(std::min<uint64_t>(count, 64))};
  const uint64_t field = at >= 64 ? 0 : x >> at;
  t.set(i.operands[0], static_cast<uint64_t>(extended(field, part)) & mask_of(i.type.bits));
}

}  // namespace fake_cuda
