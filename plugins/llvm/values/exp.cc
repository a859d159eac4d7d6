// SPDX-License-Identifier: Apache-2.0
// exp of f32 without branches, equal for scalars and vectors, in one of three ways:
//   exp_by_table      with AVX-512: e^x = 2^floor(n) 2^(k/16) e^r. A register has the sixteen roots
//                     2^(k/16), so that |r| <= ln(2)/32 and two terms of the series suffice.
//   exp_in_two_steps  without it: e^x = 2^n e^r with |r| <= ln(2)/2 and six terms.
//   exp_in_one_step   without it, for 1 + e^x, as in sigmoid: below x = -87 it gives 0, so that 2^n
//                     is one factor. Example: 1 + e^-90 and 1 + 0 are the same float.
#include <numeric>

#include "byoc/base/check.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/PatternMatch.h"
#include "plugins/llvm/values/floats.h"
#include "plugins/llvm/values/ops.h"
#include "plugins/llvm/values/tables.h"

namespace byoc::llvm_plugin {
namespace {

using Value = llvm::Value*;

constexpr double kLog2E = 1.44269504088896341;
constexpr double kLeast = -104, kMost = 89;  // results beyond are 0 and infinite
constexpr unsigned kLanes = 16, kHalf = 8;

// The exponent x, or -x. Products absorb the sign, where LLVM would move it into the clamp. Negated
// factors take registers beside the others, of which AVX-512 has enough.
struct Exponent {
  Value x;
  bool is_negated;
  double sign() const { return is_negated ? -1 : 1; }
};

// Returns r = exponent - n ln(2).
Value rest_of(Floats& f, Exponent of, Value n) {
  Value r = f.mul_add(n, f.number(-kLn2High), of.is_negated ? f.b.CreateFNeg(of.x) : of.x);
  return f.mul_add(n, f.number(-kLn2Low), r);
}

// Returns (e^r - 1) for r = exponent - n ln(2), with `terms` of (e^r - 1 - r) / r^2.
template <size_t size>
Value exp_minus_one(Floats& f, Exponent of, Value n, const double (&terms)[size]) {
  Value r = rest_of(f, of, n);
  return f.mul_add(f.mul(r, r), f.polynomial(r, terms), r);
}

// Computes e^x = 2^n e^r with |r| <= ln(2)/2. The polynomial is a minimax fit made for byoc,
// rounded to floats. 2^n is multiplied in two steps, so that results may be subnormal or infinite.
Value exp_in_two_steps(Floats& f, Value x) {
  auto& b = f.b;
  const auto [n, power] = f.rounded_product(x, f.number(kLog2E));
  Value tail = exp_minus_one(f, {x, false}, n,
                             {0.5, 0.1666666567325592, 0.041666291654109955, 0.008333498612046242,
                              0.0013944943202659488, 0.000197900619241409});
  Value half = b.CreateAShr(power, 1);
  Value scale = f.power_of_two(half);
  Value rest = f.power_of_two(b.CreateSub(power, half));
  return f.mul(f.mul_add(tail, scale, scale), rest);
}

// Computes e^x = 2^(n - 1) 2 e^r with |r| <= ln(2)/2, for x from -87 to 89; 0 below -86.99. The
// greatest factor is 2^127, so that a product that is too great becomes infinite by itself. The
// polynomial is a minimax fit made for byoc, rounded to floats and doubled.
Value exp_in_one_step(Floats& f, Exponent of) {
  const auto [n, power] = f.rounded_product(of.x, f.number(of.sign() * kLog2E));
  Value twice = f.polynomial(rest_of(f, of, n), {2, 2, 1, 0.3333306908607483, 0.08333448320627213,
                                                 0.016734862700104713, 0.002772680949419737});
  return f.mul(twice, f.power_of_two(f.b.CreateSub(power, f.integer(1))));
}

// 2^(k / 16) of k.
constexpr double kRoots[kTable] = {1,
                                   1.0442737824274138,
                                   1.0905077326652577,
                                   1.1387886347566916,
                                   1.189207115002721,
                                   1.241857812073484,
                                   1.2968395546510096,
                                   1.3542555469368927,
                                   1.4142135623730951,
                                   1.4768261459394993,
                                   1.5422108254079407,
                                   1.6104903319492543,
                                   1.681792830507429,
                                   1.7562521603732995,
                                   1.8340080864093424,
                                   1.9152065613971474};

// Computes e^x = 2^floor(n) 2^(n - floor(n)) e^r with n a multiple of 1/16 and |r| <= ln(2)/32, for
// 8 or 16 lanes. The terms are those of Taylor, of which the first takes up most of the next one
// that is left out: the rest is below 1.6e-9.
Value exp_by_table(Floats& f, Exponent of) {
  auto& b = f.b;
  const unsigned size = lanes_of(of.x);
  BYOC_CHECK(size == kLanes || size == kHalf, "a table gives ", size, " lanes");
  const bool is_long = size == kLanes;
  Value magic = f.number(0x1.8p19);  // pushes all bits below 1/16 out
  Value pushed = f.mul_add(of.x, f.number(of.sign() * kLog2E), magic),
        n = f.subtract(pushed, magic);
  Value tail = exp_minus_one(f, of, n, {0.5000162, 1.0 / 6});
  Value root = look_up(b, kRoots, f.bits(pushed));
  Value product = f.mul_add(tail, root, root);
  constexpr uint32_t kUsualRounding = 4;
  if (!is_long)
    return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_256, {},
                             {product, n, product, b.getInt8(0xff)});
  return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {},
                           {product, n, product, b.getInt16(0xffff), b.getInt32(kUsualRounding)});
}

// Returns x within [-kFar, kFar], in one instruction, which gives kFar for a NaN.
Value near_zero(llvm::IRBuilder<>& b, Value x) {
  const unsigned lanes = lanes_of(x);
  BYOC_CHECK(lanes == kLanes || lanes == kHalf, "an instruction of ", lanes, " lanes");
  constexpr double kFar = 110;           // e^-kFar is 0 and e^kFar infinite
  constexpr uint32_t kLesserSize = 0x2;  // with the sign of x
  Value far = llvm::ConstantFP::get(x->getType(), kFar), mode = b.getInt32(kLesserSize);
  if (lanes == kHalf)
    return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_range_ps_256, {},
                             {x, far, mode, x, b.getInt8(0xff)});
  constexpr uint32_t kNoException = 4;
  return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_range_ps_512, {},
                           {x, far, mode, x, b.getInt16(0xffff), b.getInt32(kNoException)});
}

// Returns the exponent x within [least, kMost]; a NaN stays.
Exponent clamped(Floats& f, Value x, double least) {
  Exponent of{x, false};
  of.is_negated =
      llvm::PatternMatch::match(x, llvm::PatternMatch::m_FNeg(llvm::PatternMatch::m_Value(of.x)));
  of.x = of.is_negated ? f.clamp(of.x, -kMost, -least) : f.clamp(x, least, kMost);
  return of;
}

}  // namespace

// A NaN passes through, because the clamp keeps it.
llvm::Value* emit_exp(llvm::IRBuilder<>& b, const Machine& machine, llvm::Value* x) {
  Floats f(b, x);
  if (!has_tables(machine)) return exp_in_two_steps(f, f.clamp(x, kLeast, kMost));
  const Exponent of = clamped(f, x, kLeast);
  return in_lanes_of_tables(b, of.x, [&](Value part) {
    Floats lanes(b, part);
    return exp_by_table(lanes, {part, of.is_negated});
  });
}

llvm::Value* emit_exp_beside_one(llvm::IRBuilder<>& b, const Machine& machine, llvm::Value* x) {
  if (has_tables(machine)) return emit_exp(b, machine, x);
  constexpr double kVanishes = -87;
  Floats f(b, x);
  return exp_in_one_step(f, clamped(f, x, kVanishes));
}

// A NaN passes through, because it is the dividend.
llvm::Value* emit_silu(llvm::IRBuilder<>& b, const Machine& machine, llvm::Value* x) {
  Floats f(b, x);
  auto* type = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  const bool is_whole =
      type != nullptr && (type->getNumElements() == kHalf || type->getNumElements() == kLanes);
  Value power = is_whole && has_tables(machine) && machine.has("avx512dq")
                    ? exp_by_table(f, {near_zero(b, x), true})
                    : emit_exp_beside_one(b, machine, b.CreateFNeg(x));
  return f.divide(x, f.add(f.number(1), power));
}

}  // namespace byoc::llvm_plugin
