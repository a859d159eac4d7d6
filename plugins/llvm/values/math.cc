// SPDX-License-Identifier: Apache-2.0
// log, erf and tanh of f32 without branches, equal for scalars and vectors. The polynomials
// are minimax fits made for byoc (weighted for relative error of the result), rounded to floats.
#include <cmath>

#include "plugins/llvm/values/floats.h"
#include "plugins/llvm/values/ops.h"

namespace byoc::llvm_plugin {
namespace {

using Value = llvm::Value*;

constexpr double kLn2High = 0x1.63p-1, kLn2Low = -2.12194440054690583e-4;  // 9 bits, and the rest

// Computes log x = e ln 2 + g - g^2/2 + g^3 P(g) for x = 2^e (1 + g), 1 + g in
// [sqrt(1/2), sqrt(2)).
Value log_of(Floats& f, Value x) {
  auto& b = f.b;
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

}  // namespace

llvm::Value* emit_log(llvm::IRBuilder<>& b, llvm::Value* x) {
  Floats f(b, x);
  return log_of(f, x);
}

// Uses an odd polynomial near 0; else 1 - 2 / (e^(2|x|) + 1), which is 1 from 9.1 on.
llvm::Value* emit_tanh(llvm::IRBuilder<>& b, const Machine& machine, llvm::Value* x) {
  Floats f(b, x);
  Value a = f.abs(x), square = f.mul(x, x);
  constexpr double kTerms[] = {-0.333333283662796,   0.1333315223455429,    -0.05393994227051735,
                               0.021663403138518333, -0.008085626177489758, 0.0020595809910446405};
  Value near = f.mul_add(f.mul(square, x), f.polynomial(square, kTerms), x);
  Value e = emit_exp_beside_one(b, machine, b.CreateFAdd(a, a));
  Value ratio = b.CreateFDiv(f.number(2), b.CreateFAdd(e, f.number(1)));
  Value far = b.CreateFSub(f.number(1), ratio);
  return f.with_sign_of(f.select(b.CreateFCmpOLT(a, f.number(0.625)), near, far), x);
}

// Uses an odd polynomial near 0; else 1 - e^-L(|x|), L a polynomial, which is 1 from 4 on.
llvm::Value* emit_erf(llvm::IRBuilder<>& b, const Machine& machine, llvm::Value* x) {
  Floats f(b, x);
  Value a = f.abs(x), square = f.mul(x, x);
  constexpr double kNear[] = {-0.37612634897232056, 0.11283719539642334,    -0.026860574260354042,
                              0.005203713662922382, -0.0008171513327397406, 8.487531158607453e-05};
  Value linear = f.mul_add(x, f.number(0.12837916709551257), x);
  Value near = f.mul_add(f.mul(square, x), f.polynomial(square, kNear), linear);
  constexpr double kFar[] = {-0.00017055093485396355, 1.1294951438903809,    0.6333866715431213,
                             0.10823660343885422,     -0.025091487914323807, 0.004160522948950529,
                             -0.0004323021275922656,  2.0909476006636396e-05};
  Value four = f.number(4);
  Value clamped = f.select(b.CreateFCmpOGT(a, four), four, a);
  Value tail = emit_exp_beside_one(b, machine, b.CreateFNeg(f.polynomial(clamped, kFar)));
  Value far = b.CreateFSub(f.number(1), tail);
  return f.with_sign_of(f.select(b.CreateFCmpOLT(a, f.number(0.9)), near, far), x);
}

}  // namespace byoc::llvm_plugin
