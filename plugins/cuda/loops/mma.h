// SPDX-License-Identifier: Apache-2.0
#pragma once
// Statements of a warp, which its threads run together: products by tensor cores, and exchanges.
// mma.sync adds 16 terms to a tile of 16 x 8 sums. Thread 4 g + q of a warp has four of them: rows
// g and g + 8, columns 2 q and 2 q + 1. Its operands are pairs of neighbours along k: of the rows g
// and g + 8 of a, and of the column g of b, at the terms 2 q and 2 q + 8.
// Source: "PTX ISA", Matrix Fragments for mma.m16n8k16; shfl.sync.
#include "plugins/cuda/loops/group.h"

namespace byoc::cuda::mma {

inline constexpr int64_t kWarp = 32, kTerms = 16, kRows = 16, kColumns = 8, kSums = 4;
inline constexpr int64_t kPad = 8;  // elements after a row: a warp's rows use all banks

/// The intrinsics of tensor cores, by the type of a and b, which `added` makes. Places: four sums
/// of a thread, and the first pairs of its parts of a and b. Argument: the distance of eight rows
/// of a in elements.
inline constexpr const char* kF16 = "mma.f16";
inline constexpr const char* kBf16 = "mma.bf16";
/// Makes: sums += a b, for the 16 terms at these places.
inline te::Stmt added(te::Place sums, te::Place a, te::Place b, int64_t eight_rows) {
  const char* name = a.tensor.dtype() == DType::kF16 ? kF16 : kBf16;
  return te::make_intrinsic(name, {std::move(sums), std::move(a), std::move(b)}, {eight_rows});
}

/// The intrinsic that `exchanged` makes. Places: `to` and `from`. Argument: `by`.
inline constexpr const char* kExchange = "exchange";
/// Makes: to = `from` of the thread whose number in the warp differs in the bits of `by`.
inline te::Stmt exchanged(te::Place to, te::Place from, int64_t by) {
  return te::make_intrinsic(kExchange, {std::move(to), std::move(from)}, {by});
}

}  // namespace byoc::cuda::mma

namespace byoc::cuda {

/// Returns x, a float, as an expression of a 16 bit type that has the same value; empty: there is
/// none. Conditions select between such values.
te::Expr as_small(const te::Expr& x, DType type);

}  // namespace byoc::cuda
