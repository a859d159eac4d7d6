// SPDX-License-Identifier: Apache-2.0
#pragma once
// A plugin's output against the reference kernel's.
#include <span>
#include <string>

#include "byoc/ir/type.h"

namespace byoc::conform {

/// Largest error allowed, as part of the largest magnitude of the reference. Floats: a sum of some
/// hundred terms in another order, and functions good to a few units in the last place; integers
/// and bool are exact.
double tolerance(DType dtype);
/// Results that differ by less are equal: 0 but for bf16, where it is the smallest normal number.
/// The x86 instruction that rounds to bf16 reads denormals as zero and writes zero for them (Intel
/// 64 and IA-32 Architectures Software Developer's Manual, volume 2, VCVTNEPS2BF16).
double flushed_below(DType dtype);

struct Comparison {
  std::string difference;  // empty: equal enough
  int64_t unwritten = -1;  // the first element that still holds what the output was filled with
};
/// `filled`: the byte the output was filled with before. exact_specials: NaN and infinities must be
/// the same; else a result that is not finite may be another that is not.
Comparison compare(const TensorType& type, const std::byte* got, const std::byte* wanted,
                   std::byte filled, bool exact_specials);

}  // namespace byoc::conform
