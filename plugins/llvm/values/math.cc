// SPDX-License-Identifier: Apache-2.0
// log, erf and tanh of f32 without branches, equal for scalars and vectors. The polynomials
// are minimax fits made for byoc (weighted for relative error of the result), rounded to floats.
#include <cmath>

#include "byoc/base/check.h"
#include "plugins/llvm/values/floats.h"
#include "plugins/llvm/values/ops.h"
#include "plugins/llvm/values/tables.h"

namespace byoc::llvm_plugin {
namespace {

using Value = llvm::Value*;

// Computes log x = e ln 2 + g - g^2/2 + g^3 P(g) for x = 2^e (1 + g), 1 + g in
// [sqrt(1/2), sqrt(2)).
Value log_of(Floats& f, Value x) {
  auto& b = f.b;
  BYOC_CHECK(x->getType()->getScalarType()->isFloatTy(), "the bits taken apart are of f32");
  Value is_tiny = b.CreateFCmpOLT(x, f.number(0x1p-126));
  Value scaled = f.select(is_tiny, f.mul(x, f.number(0x1p25)), x);
  Value from_root = b.CreateSub(f.bits(scaled), f.integer(0x3f3504f3));  // of sqrt(1/2)
  Value e = b.CreateAShr(from_root, 23);
  Value fraction = b.CreateAnd(from_root, f.integer(0x7fffff));
  Value g =
      b.CreateFSub(f.float_of_bits(b.CreateAdd(fraction, f.integer(0x3f3504f3))), f.number(1));
  e = b.CreateSub(e, f.select(is_tiny, f.integer(25), f.integer(0)));
  Value n = b.CreateSIToFP(e, x->getType());
  constexpr double kTerms[] = {0.3333333134651184,   -0.24999967217445374, 0.20000091195106506,
                               -0.16669411957263947, 0.14285126328468323,  -0.12424283474683762,
                               0.11035958677530289,  -0.10820146650075912, 0.10633833706378937,
                               -0.059778910130262375};
  Value square = f.mul(g, g);
  Value tail = f.mul(f.mul(square, g), f.polynomial(g, kTerms));
  tail = f.mul_add(n, f.number(kLn2Low), tail);
  tail = f.mul_add(square, f.number(-0.5), tail);
  Value out = f.mul_add(n, f.number(kLn2High), b.CreateFAdd(g, tail));
  out = f.select(b.CreateFCmpOEQ(x, f.number(INFINITY)), x, out);
  out = f.select(b.CreateFCmpOEQ(x, f.number(0)), f.number(-INFINITY), out);
  return f.select(b.CreateFCmpULT(x, f.number(0)), f.number(NAN), out);  // NaN as well
}

/// e^-ka = 2^power (1 - k less), where less is (1 - e^-ku) / k with k |u| <= ln(2)/2.
struct Decay {
  Value less, power;
};

// Computes it for k = 1 or 2 and a >= 0 up to 18.5 / k; from there on e^-ka is far below half a
// unit of 1. A NaN passes through.
Decay decay_of(Floats& f, Value a, double k) {
  constexpr double kLog2E = 1.44269504088896341;
  const auto [n, power] = f.rounded_product(a, f.number(-k * kLog2E));
  Value u = f.mul_add(n, f.number(kLn2High / k), a);
  u = f.mul_add(n, f.number(kLn2Low / k), u);
  double terms[] = {0.4999999701976776, 0.1666654497385025, 0.04166744276881218,
                    0.008366446010768414, 0.001387020805850625};  // of e^r - 1 - r, by r^2
  double power_of_k = 1;
  for (double& term : terms) term *= power_of_k *= -k;
  return {f.mul_add(f.mul(u, u), f.polynomial(u, terms), u), power};
}

// erf(a) / a - 1/2 in 16 intervals of a, whose middles are k / kErfSteps: the factors of powers of
// the distance to the middle, in intervals. In the first one a is not negative.
constexpr double kErfSteps = 3.905;
constexpr double kErf[][kTable] = {
    {0.628379166, 0.604191363, 0.53701967, 0.440748483, 0.332307577, 0.226192519, 0.131447747,
     0.0515856519, -0.0137126278, -0.0665955618, -0.109614357, -0.145024091, -0.174587846,
     -0.199616134, -0.221071541, -0.239666685},
    {3.28472964e-08, -0.0474348813, -0.0844950974, -0.105127752, -0.109286956, -0.10143777,
     -0.0874986425, -0.0723141506, -0.0586644597, -0.0475375764, -0.0388784483, -0.0322338119,
     -0.0271102302, -0.0231051166, -0.0199232511, -0.017355524},
    {-0.0246658716, -0.021865299, -0.0146763409, -0.00596788758, 0.00140779244, 0.0059256698,
     0.00760195637, 0.0073542567, 0.00622012513, 0.00491700321, 0.00378280692, 0.00290387985,
     0.00225324975, 0.00177611283, 0.00142289198, 0.00115704397},
    {4.6745626e-07, 0.00179478677, 0.00282800919, 0.00281123514, 0.0020201751, 0.000996794435,
     0.000176417976, -0.00028146556, -0.000434620946, -0.000416231458, -0.000335871184,
     -0.000252054568, -0.000184852513, -0.000136001821, -0.000101521116, -7.71205596e-05},
    {0.000487367302, 0.000377594464, 0.000127040636, -0.000119428929, -0.000247917254,
     -0.00024224339, -0.000160761192, -7.16258874e-05, -1.17056852e-05, 1.54120262e-05,
     2.20184174e-05, 1.90912797e-05, 1.4630461e-05, 1.04456885e-05, 7.22341019e-06, 5.01700606e-06},
    {-8.21156209e-06, -4.01596153e-05, -5.4908287e-05, -3.97568037e-05, -1.10405999e-05,
     1.13378974e-05, 1.89687125e-05, 1.54554073e-05, 8.43509315e-06, 2.91694346e-06, 7.60225549e-10,
     -8.82106519e-07, -9.72096586e-07, -7.48894422e-07, -5.00636474e-07, -3.23113113e-07},
};

// Computes x (1/2 + P_k(r)) with |r| <= 1/2, for 8 or 16 lanes: the rest beside 1/2 is small, and
// so is its rounding. It is 1 from 3.94 on, in the last interval. A NaN passes through the minimum.
Value erf_by_table(Floats& f, Value x) {
  auto& b = f.b;
  Value most = f.number(3.94), size = f.abs(x);
  Value a = f.select(b.CreateFCmpOGT(size, most), most, size);
  Value steps = f.number(kErfSteps), magic = f.number(0x1.8p23);
  Value pushed = f.fused(a, steps, magic);
  Value r = f.fused(a, steps, b.CreateFNeg(f.subtract(pushed, magic)));
  Value rest = look_up(b, kErf[5], f.bits(pushed));
  for (size_t k = 5; k-- > 0;) rest = f.fused(rest, r, look_up(b, kErf[k], f.bits(pushed)));
  Value clamped = f.with_sign_of(a, x);
  return f.fused(rest, clamped, f.mul(clamped, f.number(0.5)));
}

}  // namespace

llvm::Value* emit_log(llvm::IRBuilder<>& b, llvm::Value* x) {
  Floats f(b, x);
  return log_of(f, x);
}

// Without tables computes (1 - w) / (1 + w) for w = e^-2|x|, halves of both divided by the power of
// two in w: 1 - w is exact near 0. With tables uses an odd polynomial near 0; else 1 - 2 /
// (e^(2|x|) + 1), which is 1 from 9.1 on.
llvm::Value* emit_tanh(llvm::IRBuilder<>& b, const Machine& machine, llvm::Value* x) {
  Floats f(b, x);
  Value a = f.abs(x);
  if (!has_tables(machine)) {
    Value most = f.number(9.25), half = f.number(0.5);
    const auto [less, power] = decay_of(f, f.select(b.CreateFCmpOGT(a, most), most, a), 2);
    Value scale = f.power_of_two(b.CreateSub(f.integer(-1), power));
    Value above = f.add(less, f.subtract(scale, half));
    return f.with_sign_bit_of(f.divide(above, f.subtract(f.add(scale, half), less)), x);
  }
  Value square = f.mul(x, x);
  constexpr double kTerms[] = {-0.333333283662796,   0.1333315223455429,    -0.05393994227051735,
                               0.021663403138518333, -0.008085626177489758, 0.0020595809910446405};
  Value near = f.mul_add(f.mul(square, x), f.polynomial(square, kTerms), x);
  Value e = emit_exp_beside_one(b, machine, f.add(a, a));
  Value ratio = f.divide(f.number(2), f.add(e, f.number(1)));
  Value far = f.subtract(f.number(1), ratio);
  return f.with_sign_of(f.select(b.CreateFCmpOLT(a, f.number(0.625)), near, far), x);
}

// Without tables computes 1 - e^-l for l = a + a P(a), a = |x| up to 4, from which on the result is
// 1. P is small, and so is its rounding.
llvm::Value* emit_erf(llvm::IRBuilder<>& b, const Machine& machine, llvm::Value* x) {
  if (has_tables(machine)) {
    return in_lanes_of_tables(b, x, [&](Value part) {
      Floats lanes(b, part);
      return erf_by_table(lanes, part);
    });
  }
  Floats f(b, x);
  Value four = f.number(4), a = f.abs(x);
  Value clamped = f.select(b.CreateFCmpOGT(a, four), four, a);
  constexpr double kTerms[] = {
      0.12837916612625122,   0.6366195678710938,      0.10277630388736725,
      -0.019147822633385658, -0.00016950325516518205, 0.001675673178397119,
      -0.000637359800748527, 0.00011885961430380121,  -9.38767334446311e-06};
  Value l = f.mul_add(clamped, f.polynomial(clamped, kTerms), clamped);
  const auto [less, power] = decay_of(f, l, 1);
  Value scale = f.power_of_two(power);
  return f.with_sign_bit_of(f.mul_add(less, scale, f.subtract(f.number(1), scale)), x);
}

}  // namespace byoc::llvm_plugin
