// SPDX-License-Identifier: Apache-2.0
// Sums of four products of bytes, or two of i16, as one instruction where the processor has it; and
// the numbers of integers of four bits.
#include <algorithm>
#include <array>
#include <span>

#include "byoc/base/check.h"
#include "byoc/te/simplify.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "plugins/llvm/values/tables.h"
#include "plugins/llvm/values/values.h"

namespace byoc::llvm_plugin {
namespace {

constexpr size_t kQuad = 4, kPair = 2;    // products of a lane
constexpr size_t kMostDots = 8;           // of one sum
constexpr uint32_t kHalves = 0x0f0f0f0f;  // the lower ones of four bytes

enum class Nibble : uint8_t { kNone, kLow, kHigh };

constexpr int64_t kLeastI16 = -32768, kMostI16 = 32767;

// Returns x of a sum saturated to i16, min(max(x, -32768), 32767) in i32; null: another sum.
const te::Expr* saturated(const te::Expr& sum) {
  auto* least = std::get_if<te::Binary>(&sum->kind);
  if (least == nullptr || least->op != te::BinaryOp::kMin || te::as_int(least->b) != kMostI16)
    return nullptr;
  auto* greatest = std::get_if<te::Binary>(&least->a->kind);
  const bool is_pair = greatest != nullptr && greatest->op == te::BinaryOp::kMax &&
                       te::as_int(greatest->b) == kLeastI16;
  return is_pair ? &greatest->a : nullptr;
}

// Appends the terms of a sum, and its products of u8 and i8, or of two i16. The u8 may be half of a
// byte. Two products of bytes may be a sum of their own, saturated to i16. Sums have few terms.
struct Terms {
  struct Product {
    const te::Load *a, *b;        // of bytes: the unsigned one, then the signed one
    Nibble half = Nibble::kNone;  // of a
    bool saturates = false;       // the sum with the product before it, or after it
  };
  std::vector<Product> products;
  std::vector<te::Expr> others;

  void add(const te::Expr& x, size_t depth = 0) {
    constexpr size_t kDeepest = 12;
    auto* binary = std::get_if<te::Binary>(&x->kind);
    if (binary != nullptr && binary->op == te::BinaryOp::kAdd && depth < kDeepest) {
      add(binary->a, depth + 1);
      return add(binary->b, depth + 1);
    }
    if (binary != nullptr && binary->op == te::BinaryOp::kMultiply) {
      te::Expr first = binary->a, second = binary->b;
      Nibble half = take_half(first);
      if (half == Nibble::kNone) half = take_half(second), std::swap(first, second);
      const te::Load *a = operand_of(first), *b = operand_of(second);
      if (a && b && a->tensor.dtype() == DType::kI8) std::swap(a, b);
      const bool is_half_of_u8 = half == Nibble::kNone || a == operand_of(first);
      if (a && b && is_half_of_u8 && may_multiply(a->tensor.dtype(), b->tensor.dtype())) {
        products.push_back({a, b, half});
        return;
      }
    }
    if (!add_saturated(x)) others.push_back(x);
  }
  bool add_saturated(const te::Expr& x) {
    const te::Expr* sum = saturated(x);
    if (sum == nullptr) return false;
    Terms pair;
    pair.add(*sum);
    if (pair.products.size() != kPair || !pair.others.empty()) return false;
    for (Product& product : pair.products) {
      if (product.a->tensor.dtype() != DType::kU8 || product.half != Nibble::kNone ||
          product.saturates)
        return false;
      product.saturates = true;
      products.push_back(product);
    }
    return true;
  }
  static bool may_multiply(DType a, DType b) {
    return (a == DType::kU8 && b == DType::kI8) || (a == DType::kI16 && b == DType::kI16);
  }
  // Replaces half of a byte by the byte.
  static Nibble take_half(te::Expr& x) {
    auto* binary = std::get_if<te::Binary>(&x->kind);
    if (binary == nullptr || operand_of(binary->a) == nullptr) return Nibble::kNone;
    const std::optional<int64_t> number = te::as_int(binary->b);
    Nibble half = Nibble::kNone;
    if (binary->op == te::BinaryOp::kAnd && number == 15) half = Nibble::kLow;
    if (binary->op == te::BinaryOp::kShiftRight && number == 4) half = Nibble::kHigh;
    if (operand_of(binary->a)->tensor.dtype() != DType::kU8) half = Nibble::kNone;
    if (half != Nibble::kNone) x = te::Expr(binary->a);
    return half;
  }
  static const te::Load* operand_of(const te::Expr& x) {
    auto* cast = std::get_if<te::Cast>(&x->kind);
    if (cast == nullptr) return nullptr;
    auto* load = std::get_if<std::shared_ptr<const te::Load>>(&cast->x->kind);
    return load != nullptr && !(*load)->indices.empty() ? load->get() : nullptr;
  }
};

// Returns the distance of a load from another one along the last dim, if they differ in it alone.
std::optional<int64_t> distance(const te::Load& from, const te::Load& to) {
  if (from.tensor != to.tensor) return std::nullopt;
  BYOC_CHECK(!from.indices.empty() && from.indices.size() == to.indices.size(), "tensor ",
             from.tensor.name(), " is read by ", from.indices.size(), " and ", to.indices.size(),
             " indices");
  const size_t last = from.indices.size() - 1;
  for (size_t k = 0; k < last; ++k) {
    if (!te::structural_equal(from.indices[k], to.indices[k])) return std::nullopt;
  }
  return te::as_int(te::simplify(to.indices[last] - from.indices[last]));
}

// Returns the number of products that are one sum: of bytes four, of i16 two.
size_t count_of(const Terms::Product& product) {
  return product.a->tensor.dtype() == DType::kI16 ? kPair : kQuad;
}

// Returns the product at the least place, if the others follow it; null where they are no
// neighbours.
const Terms::Product* first_product(std::span<const Terms::Product> products) {
  std::array<bool, kQuad> is_met{};
  if (products.empty() || products.size() != count_of(products[0])) return nullptr;
  auto place = [&](const Terms::Product& to) -> std::optional<int64_t> {
    if (to.half != products[0].half || to.saturates != products[0].saturates) return std::nullopt;
    auto a = distance(*products[0].a, *to.a);
    auto b = distance(*products[0].b, *to.b);
    return a == b ? a : std::nullopt;
  };
  const Terms::Product* first = nullptr;
  int64_t least = INT64_MAX;
  for (const Terms::Product& product : products) {
    auto at = place(product);
    if (!at) return nullptr;
    if (*at < least) least = *at, first = &product;
  }
  for (const Terms::Product& product : products) {
    const int64_t at = *place(product) - least;
    if (at >= static_cast<int64_t>(products.size()) || is_met[static_cast<size_t>(at)])
      return nullptr;
    is_met[static_cast<size_t>(at)] = true;
  }
  // the instruction saturates sums of the first two products, and of the last two
  const auto half = [&](size_t k) { return (*place(products[k]) - least) / 2; };
  if (first->saturates && half(0) != half(1)) return nullptr;
  return first;
}

// Returns the first products of each dot in a sum; none if a product has no neighbours.
std::vector<Terms::Product> dots_of(std::span<const Terms::Product> products) {
  std::vector<Terms::Product> out;
  if (products.empty() || products.size() > kMostDots * kQuad) return out;
  const size_t count = count_of(products[0]);
  if (products.size() % count != 0) return out;
  for (size_t k = 0; k < products.size(); k += count) {
    const Terms::Product* first = first_product(products.subspan(k, count));
    if (first == nullptr) return {};
    out.push_back(*first);
  }
  return out;
}

constexpr llvm::Intrinsic::ID kNone = llvm::Intrinsic::not_intrinsic;

// Returns the instruction for vectors of so many bits that adds four products of bytes.
llvm::Intrinsic::ID dot_of(const Machine& machine, unsigned bits) {
  const bool has_long = machine.has("avx512vnni");
  const bool has_short = machine.has("avxvnni") || (has_long && machine.has("avx512vl"));
  if (bits == 512 && has_long) return llvm::Intrinsic::x86_avx512_vpdpbusd_512;
  if (bits == 256 && has_short) return llvm::Intrinsic::x86_avx512_vpdpbusd_256;
  if (bits == 128 && has_short) return llvm::Intrinsic::x86_avx512_vpdpbusd_128;
  return kNone;
}

// Returns the one that adds two products of i16.
llvm::Intrinsic::ID pairs_of(const Machine& machine, unsigned bits) {
  if (bits == 512 && machine.has("avx512bw")) return llvm::Intrinsic::x86_avx512_pmaddw_d_512;
  if (bits == 256 && machine.has("avx2")) return llvm::Intrinsic::x86_avx2_pmadd_wd;
  if (bits == 128 && machine.has("sse2")) return llvm::Intrinsic::x86_sse2_pmadd_wd;
  return kNone;
}

// Returns the one that adds two products of bytes as i16, saturated.
llvm::Intrinsic::ID byte_pairs_of(const Machine& machine, unsigned bits) {
  if (bits == 512 && machine.has("avx512bw")) return llvm::Intrinsic::x86_avx512_pmaddubs_w_512;
  if (bits == 256 && machine.has("avx2")) return llvm::Intrinsic::x86_avx2_pmadd_ub_sw;
  if (bits == 128 && machine.has("ssse3")) return llvm::Intrinsic::x86_ssse3_pmadd_ub_sw_128;
  return kNone;
}

}  // namespace

// Adds the products of bytes in the lanes of x, which are unsigned, and w, as i32. Sums of two
// products fit in 17 bits, so pairs of i16 give them exactly.
llvm::Value* Ops::add_dot(Value sum, Value x, Value w) {
  auto* type = llvm::cast<llvm::FixedVectorType>(sum->getType());
  const unsigned lanes = type->getNumElements(), bits = lanes * 32;
  if (const auto id = dot_of(machine_, bits); id != kNone)
    return b_.CreateIntrinsic(id, {}, {sum, x, w});
  auto splat32 = [&](uint32_t value) {
    return llvm::ConstantVector::getSplat(type->getElementCount(), b_.getInt32(value));
  };
  if (const auto id = pairs_of(machine_, bits); id != kNone) {
    auto* half = llvm::FixedVectorType::get(b_.getInt16Ty(), 2 * lanes);
    auto halves = [&](Value value) { return b_.CreateBitCast(value, half); };
    Value even = halves(b_.CreateAnd(x, splat32(0x00ff00ff)));
    Value odd = b_.CreateLShr(halves(x), 8), weights = halves(w);
    Value even_weights = b_.CreateAShr(b_.CreateShl(weights, 8), 8);
    Value odd_weights = b_.CreateAShr(weights, 8);
    sum = b_.CreateAdd(sum, b_.CreateIntrinsic(id, {}, {even, even_weights}));
    return b_.CreateAdd(sum, b_.CreateIntrinsic(id, {}, {odd, odd_weights}));
  }
  for (uint32_t byte = 0; byte < kQuad; ++byte) {
    Value a = b_.CreateAnd(b_.CreateLShr(x, splat32(8 * byte)), splat32(255));
    Value b = b_.CreateAShr(b_.CreateShl(w, splat32(24 - 8 * byte)), splat32(24));
    sum = b_.CreateAdd(sum, b_.CreateMul(a, b));
  }
  return sum;
}

// Adds the products of bytes in the lanes of x, which are unsigned, and w, as i32: the sums of the
// first two and of the last two of a lane are saturated to i16. Returns null where no instruction
// does so.
llvm::Value* Ops::add_saturated_dot(Value sum, Value x, Value w) {
  auto* type = llvm::cast<llvm::FixedVectorType>(sum->getType());
  const unsigned lanes = type->getNumElements();
  const auto bytes = byte_pairs_of(machine_, lanes * 32), pairs = pairs_of(machine_, lanes * 32);
  if (bytes == kNone || pairs == kNone) return nullptr;
  auto* of_bytes = llvm::FixedVectorType::get(b_.getInt8Ty(), 4 * lanes);
  Value two =
      b_.CreateIntrinsic(bytes, {}, {b_.CreateBitCast(x, of_bytes), b_.CreateBitCast(w, of_bytes)});
  Value ones = llvm::ConstantInt::get(two->getType(), 1);
  return fenced(b_.CreateAdd(sum, b_.CreateIntrinsic(pairs, {}, {two, ones})));
}

// Keeps the order of sums of i32, by a fence that has no instruction: LLVM would add products to
// each other first, which need more registers than there are.
llvm::Value* Ops::fenced(Value sum) {
  auto* type = llvm::cast<llvm::FixedVectorType>(sum->getType());
  auto* floats = llvm::FixedVectorType::get(b_.getFloatTy(), type->getNumElements());
  return b_.CreateBitCast(b_.CreateArithmeticFence(b_.CreateBitCast(sum, floats), floats), type);
}

// Adds the products of the i16 in the lanes of x and w, as i32: modulo 2^32, as other sums of i32.
llvm::Value* Ops::add_pairs(Value sum, Value x, Value w) {
  auto* type = llvm::cast<llvm::FixedVectorType>(sum->getType());
  const unsigned lanes = type->getNumElements();
  if (const auto id = pairs_of(machine_, lanes * 32); id != kNone) {
    auto* half = llvm::FixedVectorType::get(b_.getInt16Ty(), 2 * lanes);
    Value a = b_.CreateBitCast(x, half), b = b_.CreateBitCast(w, half);
    return fenced(b_.CreateAdd(sum, b_.CreateIntrinsic(id, {}, {a, b})));
  }
  Value low =
      b_.CreateMul(b_.CreateAShr(b_.CreateShl(x, 16), 16), b_.CreateAShr(b_.CreateShl(w, 16), 16));
  Value high = b_.CreateMul(b_.CreateAShr(x, 16), b_.CreateAShr(w, 16));
  return b_.CreateAdd(b_.CreateAdd(sum, low), high);
}

// The operands of a dot: one element that all lanes share, and as many per lane as it has products.
struct Values::Dot {
  Place cell, lanes;
  bool is_cell_unsigned, saturates = false;
  uint32_t shift = 0, mask = ~uint32_t{0};  // of the lanes
};

// Emits a + x[k] * w[k] + ... + x[k + 3] * w[k + 3] for bytes that all lanes share and bytes of
// which each lane has four adjacent ones, or the same of two i16; also several of these. Returns
// null for all else.
llvm::Value* Values::dot(const te::Expr& x) {
  if (lanes_ == 0 || mask_ != nullptr || x.dtype() != DType::kI32) return nullptr;
  Terms terms;
  terms.add(x);
  const std::vector<Terms::Product> found = dots_of(terms.products);
  if (found.empty()) return nullptr;
  const size_t count = count_of(found[0]);
  std::vector<Dot> dots;
  for (const Terms::Product& product : found) {
    Dot dot{place(product.a->tensor, product.a->indices),
            place(product.b->tensor, product.b->indices), true};
    if (dot.lanes.stride == 0) std::swap(dot.cell, dot.lanes), dot.is_cell_unsigned = false;
    if (dot.cell.stride != 0 || dot.lanes.stride != static_cast<int64_t>(count)) return nullptr;
    if (product.half != Nibble::kNone && dot.is_cell_unsigned) return nullptr;
    if (product.half != Nibble::kNone) dot.mask = kHalves;
    if (product.half == Nibble::kHigh) dot.shift = 4;
    dot.saturates = product.saturates;
    dots.push_back(dot);
  }
  const unsigned native = static_cast<unsigned>(machine_.vector_bits) / 32;
  const unsigned piece = std::min(lanes_, native);
  if (piece < kQuad || lanes_ % piece != 0) return nullptr;
  Value sum = splat(b_.getInt32(0)), out = nullptr;
  for (const te::Expr& other : terms.others) sum = b_.CreateAdd(splat(value(other)), sum);
  for (unsigned lane = 0; lane < lanes_; lane += piece) {
    std::vector<int> own(piece);
    for (unsigned k = 0; k < piece; ++k) own[k] = static_cast<int>(lane + k);
    Value part = piece == lanes_ ? sum : b_.CreateShuffleVector(sum, own);
    if (llvm::Value* whole = with_halves(part, dots, lane)) part = whole;
    else
      for (const Dot& dot : dots) part = with_dot(part, dot, lane, count == kPair);
    if (part == nullptr) return nullptr;
    out = out == nullptr ? part : joined_lanes(out, part);
  }
  return out;
}

// Loads the operands of a dot for the lanes from `lane` on.
std::pair<llvm::Value*, llvm::Value*> Values::operands_of(llvm::Type* of_sum, const Dot& dot,
                                                          unsigned lane) {
  auto* type = llvm::cast<llvm::FixedVectorType>(of_sum);
  Value bytes =
      b_.CreateAlignedLoad(b_.getInt32Ty(), address(dot.cell, dot.cell.offset), llvm::Align(1));
  Value cell = b_.CreateVectorSplat(type->getElementCount(), bytes);
  Value from = b_.CreateConstGEP1_64(b_.getInt32Ty(), address(dot.lanes, dot.lanes.offset), lane);
  Value own = b_.CreateAlignedLoad(type, from, llvm::Align(1));
  if (dot.shift > 0) own = b_.CreateLShr(own, dot.shift);
  if (dot.mask != ~uint32_t{0}) own = b_.CreateAnd(own, llvm::ConstantInt::get(type, dot.mask));
  return {cell, own};
}

// Adds dots whose lanes are halves of bytes. Two products are at most 2 * 15 * 128, so that i16 has
// the sums of kMostDots of them. Returns null for others, and with instructions for four products.
llvm::Value* Values::with_halves(Value sum, std::span<const Dot> dots, unsigned lane) {
  static_assert(kMostDots * 2 * 15 * 128 < 1 << 15);
  const unsigned lanes = lanes_of(sum), bits = lanes * 32;
  const auto bytes = byte_pairs_of(machine_, bits), pairs = pairs_of(machine_, bits);
  if (dots.empty() || bytes == kNone || pairs == kNone || dot_of(machine_, bits) != kNone)
    return nullptr;
  if (std::ranges::any_of(dots, [](const Dot& dot) { return dot.mask != kHalves; })) return nullptr;
  auto* of_bytes = llvm::FixedVectorType::get(b_.getInt8Ty(), 4 * lanes);
  Value all = nullptr;
  for (const Dot& dot : dots) {
    const auto [cell, own] = operands_of(sum->getType(), dot, lane);
    Value two = b_.CreateIntrinsic(
        bytes, {}, {b_.CreateBitCast(own, of_bytes), b_.CreateBitCast(cell, of_bytes)});
    all = all == nullptr ? two : b_.CreateAdd(all, two);
  }
  Value ones = llvm::ConstantInt::get(all->getType(), 1);
  return b_.CreateAdd(sum, b_.CreateIntrinsic(pairs, {}, {all, ones}));
}

// Adds a dot to the lanes from `lane` on. Returns null where no instruction does so, and for null.
llvm::Value* Values::with_dot(Value sum, const Dot& dot, unsigned lane, bool are_pairs) {
  if (sum == nullptr) return nullptr;
  const auto [cell, own] = operands_of(sum->getType(), dot, lane);
  if (are_pairs) return ops_.add_pairs(sum, cell, own);
  if (dot.saturates)
    return dot.is_cell_unsigned ? ops_.add_saturated_dot(sum, cell, own)
                                : ops_.add_saturated_dot(sum, own, cell);
  return dot.is_cell_unsigned ? ops_.add_dot(sum, cell, own) : ops_.add_dot(sum, own, cell);
}

// Emits the f32 of (word & 15) - shift, lanes of i32, as one look-up. Returns null for all else.
llvm::Value* Values::number_of_nibble(const te::Binary& x) {
  const auto* shift = std::get_if<te::FloatImm>(&x.b->kind);
  const auto* number = std::get_if<te::Cast>(&x.a->kind);
  if (x.op != te::BinaryOp::kSubtract || shift == nullptr || number == nullptr ||
      x.a.dtype() != DType::kF32 || !has_tables(machine_) || !varies(x.a))
    return nullptr;
  const auto* low = std::get_if<te::Binary>(&number->x->kind);
  if (low == nullptr || low->op != te::BinaryOp::kAnd || number->x.dtype() != DType::kI32 ||
      te::as_int(low->b) != static_cast<int64_t>(kTable) - 1)
    return nullptr;
  double table[kTable];
  for (unsigned k = 0; k < kTable; ++k) table[k] = static_cast<double>(k) - shift->value;
  return in_lanes_of_tables(b_, value(low->a),
                            [&](Value index) { return look_up(b_, table, index); });
}

// Returns the lanes of `a`, then those of `b`, of which there may be fewer.
llvm::Value* Values::joined_lanes(Value a, Value b) {
  const unsigned n = lanes_of(a), m = lanes_of(b);
  BYOC_CHECK(0 < m && m <= n, m, " lanes follow ", n);
  std::vector<int> widen(n), all(n + m);
  for (unsigned k = 0; k < n; ++k) widen[k] = k < m ? static_cast<int>(k) : -1;
  for (unsigned k = 0; k < n + m; ++k) all[k] = static_cast<int>(k);
  if (m < n) b = b_.CreateShuffleVector(b, widen);
  return b_.CreateShuffleVector(a, b, all);
}

}  // namespace byoc::llvm_plugin
