// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compares an output of a plugin with that of the reference kernel.
#include <span>
#include <string>

#include "byoc/ir/type.h"

namespace byoc::conform {

/// Returns the largest error allowed, relative to the largest magnitude of the reference. Floats
/// allow for sums of some hundred terms in another order, and for functions with errors of a few
/// units in the last place. Integers and bool are exact: 0.
double tolerance(DType dtype);
/// Returns the largest difference that counts as none, however small the reference is. For bf16
/// that is nearly the smallest normal number: the x86 instruction that rounds to bf16,
/// VCVTNEPS2BF16, reads denormals as zero and writes zero for them (Intel 64 and IA-32
/// Architectures Software Developer's Manual, volume 2). For other floats it is their smallest
/// number, a step of rounding there: its square in the same dtype is 0, so that the root of a sum
/// of squares is 0, too.
double negligible(DType dtype);

/// Returns the difference that a chain of ops may have where its values are about 1: four steps of
/// rounding there for f32 and f64, else 0. Its result may be small with the same rounding, as gelu
/// is of -3, which the formula of ONNX computes as -1.5 * (1 + erf(-2.1)). So may the sigmoid of a
/// value far from 0.
double rounding_of_chain(DType dtype);

struct Comparison {
  std::string difference;  // empty: equal within the tolerance
  int64_t unwritten = -1;  // the first element that still has the fill byte; -1: none
};
/// Compares two buffers of one type. `filled` is the byte that filled the output before the run.
/// With exact_specials NaN and infinities must be equal; otherwise any value that is not finite may
/// be replaced by any other such value. Differences up to `rounding` are none.
Comparison compare(const TensorType& type, const std::byte* got, const std::byte* expected,
                   std::byte filled, bool exact_specials, double rounding = 0);

}  // namespace byoc::conform
