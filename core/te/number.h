// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arithmetic of every element type as defined in te/expr.h, for the interpreter and for folding by
// the simplifier. Floats of each type are carried as doubles and rounded after each operation: that
// is exact for + - * / and sqrt of f32 and narrower types, as 53 >= 2 * 24 + 2 bits.
#include <optional>

#include "byoc/te/expr.h"

namespace byoc::te {

/// `f` for floats; else `i`: sign- or zero-extended, u64 as its bits, bool 0 or 1.
union Number {
  double f;
  int64_t i;
};
inline Number float_number(double f) { return {.f = f}; }
inline Number int_number(int64_t i) { return {.i = i}; }

/// Returns the nearest value of the type, and of two equally near ones the even one.
double rounded(DType dtype, double value);
/// Returns the value modulo 2^bits, within the type. bool: != 0.
int64_t wrapped(DType dtype, int64_t value);

Number read_number(DType dtype, const void* at);
void write_number(DType dtype, void* at, Number value);

Number apply(UnaryOp op, DType dtype, Number x);
/// Returns nullopt where the result is undefined: division by 0, a shift by too many bits.
std::optional<Number> apply(BinaryOp op, DType dtype, Number a, Number b);
/// Returns nullopt where the result is undefined: a float outside the range of an integer type.
std::optional<Number> converted(DType to, DType from, Number x);
Number bits_as(DType to, DType from, Number x);

}  // namespace byoc::te
