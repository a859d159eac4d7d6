// SPDX-License-Identifier: Apache-2.0
// Arithmetic, comparisons, and the table of all instructions.
#include <algorithm>
#include <stdexcept>

#include "fake/conversions.h"
#include "fake/numbers.h"

namespace fake_cuda {
namespace {

using Wide = __int128;

int64_t whole(Thread& t, const Instruction& i, size_t operand) {
  return extended(t.value(i.operands[operand]), i.type);
}
double real(Thread& t, const Instruction& i, size_t operand) {
  return number_of(t.value(i.operands[operand]), i.type);
}
void set_whole(Thread& t, const Instruction& i, int64_t x) {
  t.set(i.operands[0], static_cast<uint64_t>(x) & mask_of(i.type.bits));
}
void set_real(Thread& t, const Instruction& i, double x) {
  t.set(i.operands[0], bits_of(x, i.type));
}

// Sums and products of f32 in f64 are rounded twice, which gives the same: 53 >= 2 * 24 + 2.
template <char op>
double compute(double a, double b) {
  if constexpr (op == '+') return a + b;
  if constexpr (op == '-') return a - b;
  if constexpr (op == '*') return a * b;
  if constexpr (op == '/') return a / b;
}
template <char op>
int64_t compute(int64_t a, int64_t b, const Type& type) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  if constexpr (op == '+') return static_cast<int64_t>(x + y);
  if constexpr (op == '-') return static_cast<int64_t>(x - y);
  if constexpr (op == '*') return static_cast<int64_t>(x * y);
  if constexpr (op == '&') return a & b;
  if constexpr (op == '|') return a | b;
  if constexpr (op == '^') return a ^ b;
  if constexpr (op == '/')
    return y == 0              ? -1
           : !type.is_signed() ? static_cast<int64_t>(x / y)
           : b == -1           ? static_cast<int64_t>(0 - x)
                               : a / b;
  if constexpr (op == '%')
    return y == 0 ? a : !type.is_signed() ? static_cast<int64_t>(x % y) : b == -1 ? 0 : a % b;
}

template <char op>
void binary(Thread& t, const Instruction& i) {
  if constexpr (op == '+' || op == '-' || op == '*' || op == '/') {
    if (i.type.is_float()) return set_real(t, i, compute<op>(real(t, i, 1), real(t, i, 2)));
  }
  set_whole(t, i, compute<op>(whole(t, i, 1), whole(t, i, 2), i.type));
}

Wide product(Thread& t, const Instruction& i) {
  const int64_t a = whole(t, i, 1), b = whole(t, i, 2);
  if (i.type.is_signed()) return Wide{a} * b;
  return static_cast<Wide>(static_cast<unsigned __int128>(static_cast<uint64_t>(a)) *
                           static_cast<uint64_t>(b));
}
void multiply(Thread& t, const Instruction& i) {
  if (i.type.is_float()) return binary<'*'>(t, i);
  const Wide all = product(t, i);
  if (i.word == "wide") t.set(i.operands[0], static_cast<uint64_t>(all) & mask_of(2 * i.type.bits));
  else set_whole(t, i, static_cast<int64_t>(i.word == "hi" ? all >> i.type.bits : all));
}
void multiply_add(Thread& t, const Instruction& i) {
  Wide all = product(t, i);
  if (i.word == "hi") all >>= i.type.bits;
  const int bits = i.word == "wide" ? 2 * i.type.bits : i.type.bits;
  const uint64_t sum = static_cast<uint64_t>(all) + t.value(i.operands[3]);
  t.set(i.operands[0], sum & mask_of(bits));
}
void fused(Thread& t, const Instruction& i) {
  const double a = real(t, i, 1), b = real(t, i, 2), c = real(t, i, 3);
  if (i.type.bits == 32)
    return set_real(t, i,
                    std::fma(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c)));
  set_real(t, i, i.type.bits == 64 ? std::fma(a, b, c) : a * b + c);
}

template <bool is_max>
void extremum(Thread& t, const Instruction& i) {
  if (!i.type.is_float()) {
    const int64_t a = whole(t, i, 1), b = whole(t, i, 2);
    const bool less =
        i.type.is_signed() ? a < b : static_cast<uint64_t>(a) < static_cast<uint64_t>(b);
    return set_whole(t, i, less == is_max ? b : a);
  }
  const double a = real(t, i, 1), b = real(t, i, 2);
  if (std::isnan(a) || std::isnan(b)) {
    if (i.word == "NaN" || (std::isnan(a) && std::isnan(b))) return set_real(t, i, NAN);
    return set_real(t, i, std::isnan(a) ? b : a);
  }
  const bool less = a < b || (a == b && std::signbit(a));
  set_real(t, i, less == is_max ? b : a);
}

template <bool is_left>
void shift(Thread& t, const Instruction& i) {
  const uint64_t by = t.value(i.operands[2]) & 0xffffffff,
                 bits = static_cast<uint64_t>(i.type.bits);
  const int64_t x = whole(t, i, 1);
  if constexpr (is_left)
    return set_whole(t, i, by >= bits ? 0 : static_cast<int64_t>(static_cast<uint64_t>(x) << by));
  if (i.type.is_signed()) return set_whole(t, i, x >> std::min<uint64_t>(by, bits - 1));
  set_whole(t, i, by >= bits ? 0 : static_cast<int64_t>(static_cast<uint64_t>(x) >> by));
}

// Funnel shift of the pair (b, a) by c, clamped or wrapped.
void funnel(Thread& t, const Instruction& i) {
  const uint64_t a = t.value(i.operands[1]) & 0xffffffff, b = t.value(i.operands[2]) & 0xffffffff;
  uint64_t by = t.value(i.operands[3]) & 0xffffffff;
  by = i.opcode.find(".wrap") != std::string::npos ? by & 31 : std::min<uint64_t>(by, 32);
  const uint64_t pair = b << 32 | a;
  t.set(i.operands[0], i.word == "l" ? (pair << by) >> 32 & 0xffffffff : pair >> by & 0xffffffff);
}

bool compare(Thread& t, const Instruction& i) {
  std::string op = i.word;
  int order = 0;  // -1, 0, 1, or 2: not ordered
  if (i.type.is_float()) {
    const double a = real(t, i, 1), b = real(t, i, 2);
    order = std::isnan(a) || std::isnan(b) ? 2 : a < b ? -1 : a > b;
  } else if (i.type.is_signed()) {
    const int64_t a = whole(t, i, 1), b = whole(t, i, 2);
    order = a < b ? -1 : a > b;
  } else {
    const auto a = static_cast<uint64_t>(whole(t, i, 1)), b = static_cast<uint64_t>(whole(t, i, 2));
    order = a < b ? -1 : a > b;
  }
  if (op == "num") return order != 2;
  if (op == "nan") return order == 2;
  if (op.size() == 3 && op.back() == 'u') {
    if (order == 2) return true;
    op.pop_back();
  }
  if (order == 2) return false;
  if (op == "eq") return order == 0;
  if (op == "ne") return order != 0;
  if (op == "lt" || op == "lo") return order < 0;
  if (op == "le" || op == "ls") return order <= 0;
  if (op == "gt" || op == "hi") return order > 0;
  if (op == "ge" || op == "hs") return order >= 0;
  throw std::runtime_error("comparison " + op);
}

template <double (*function)(double)>
void real_unary(Thread& t, const Instruction& i) {
  set_real(t, i, function(real(t, i, 1)));
}
double root(double x) { return std::sqrt(x); }
double reciprocal(double x) { return 1 / x; }

void negate(Thread& t, const Instruction& i) {
  if (i.type.is_float())
    t.set(i.operands[0], t.value(i.operands[1]) ^ uint64_t{1} << (i.type.bits - 1));
  else set_whole(t, i, -whole(t, i, 1));
}
void absolute(Thread& t, const Instruction& i) {
  if (i.type.is_float()) t.set(i.operands[0], t.value(i.operands[1]) & mask_of(i.type.bits - 1));
  else set_whole(t, i, std::abs(whole(t, i, 1)));
}

const std::map<std::string, Execute>& table() {
  static const std::map<std::string, Execute> all = {
      {"add", binary<'+'>},
      {"sub", binary<'-'>},
      {"mul", multiply},
      {"mad", multiply_add},
      {"div", binary<'/'>},
      {"rem", binary<'%'>},
      {"and", binary<'&'>},
      {"or", binary<'|'>},
      {"xor", binary<'^'>},
      {"fma", fused},
      {"min", extremum<false>},
      {"max", extremum<true>},
      {"shl", shift<true>},
      {"shr", shift<false>},
      {"shf", funnel},
      {"neg", negate},
      {"abs", absolute},
      {"sqrt", real_unary<root>},
      {"rcp", real_unary<reciprocal>},
      {"not", [](Thread& t, const Instruction& i) { set_whole(t, i, ~whole(t, i, 1)); }},
      {"setp", [](Thread& t, const Instruction& i) { t.set(i.operands[0], compare(t, i)); }},
      {"selp",
       [](Thread& t, const Instruction& i) {
         t.set(i.operands[0], t.value(i.operands[(t.value(i.operands[3]) & 1) != 0 ? 1 : 2]));
       }},
      {"popc",
       [](Thread& t, const Instruction& i) {
         t.set(i.operands[0],
               static_cast<uint64_t>(std::popcount(t.value(i.operands[1]) & mask_of(i.type.bits))));
       }},
      {"clz",
       [](Thread& t, const Instruction& i) {
         const uint64_t x = t.value(i.operands[1]) & mask_of(i.type.bits);
         t.set(i.operands[0], static_cast<uint64_t>(std::countl_zero(x) - 64 + i.type.bits));
       }},
      {"copysign",
       [](Thread& t, const Instruction& i) {  // the sign comes first
         set_real(t, i, std::copysign(real(t, i, 2), real(t, i, 1)));
       }},
      {"mov", move},
      {"ld", load},
      {"st", store},
      {"cvt", convert},
      {"cvta", convert_address},
      {"prmt", permute},
      {"bfe", extract_bits},
      {"mma", nullptr},
      {"shfl", nullptr}};
  return all;
}

Type type_of(const std::string& word) {
  if (word == "pred") return {'p', 1};
  if (word == "tf32") return {'t', 32};
  if (word == "bf16") return {'g', 16};
  const bool is_type =
      word.size() >= 2 && std::string("busf").find(word[0]) != std::string::npos &&
      std::all_of(word.begin() + 1, word.end(), [](char c) { return c >= '0' && c <= '9'; });
  return is_type ? Type{word[0], std::stoi(word.substr(1))} : Type{'?', 0};
}

}  // namespace

void resolve(Instruction& i, const std::vector<std::string>& words) {
  static const std::map<std::string, Instruction::Control> kControl = {
      {"bra", Instruction::kBranch},      {"ret", Instruction::kReturn},
      {"exit", Instruction::kReturn},     {"bar", Instruction::kBarrier},
      {"barrier", Instruction::kBarrier}, {"trap", Instruction::kTrap},
      {"mma", Instruction::kWarp},        {"shfl", Instruction::kWarp}};
  static const std::map<std::string, Space> kSpaces = {{"param", Space::kParam},
                                                       {"global", Space::kGlobal},
                                                       {"shared", Space::kShared},
                                                       {"local", Space::kLocal}};
  static const std::vector<std::string> kIgnored = {
      "rn", "nc", "sync", "to", "uni", "volatile", "relaxed", "sys", "wrap", "clamp", "b4e"};
  if (const auto control = kControl.find(words[0]); control != kControl.end())
    i.control = control->second;
  const auto known = table().find(words[0]);
  if (known != table().end()) i.execute = known->second;
  else if (i.control == Instruction::kNext)
    throw std::runtime_error("unknown instruction " + i.opcode);
  i.type = i.from = {'?', 0};
  for (size_t k = 1; k < words.size(); ++k) {
    const Type type = type_of(words[k]);
    if (type.bits != 0) {
      if (i.type.bits == 0) i.type = type;
      i.from = type;
    } else if (const auto space = kSpaces.find(words[k]); space != kSpaces.end()) {
      i.space = space->second;
    } else if (std::find(kIgnored.begin(), kIgnored.end(), words[k]) == kIgnored.end()) {
      i.word = words[k];
    }
  }
}

}  // namespace fake_cuda
