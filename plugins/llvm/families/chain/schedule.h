// SPDX-License-Identifier: Apache-2.0
#pragma once
// Schedules chains: row by row, all convolutions of a chain one after the other, so that what is
// between them stays in the first caches.
#include "byoc/te/schedule.h"
#include "byoc/te/target.h"
#include "plugins/llvm/tiling/register_tile.h"
#include "plugins/llvm/tiling/rows.h"

namespace byoc::llvm_plugin::chain {

/// The stages of a convolution, as places in a Dag, and the extents of its sums.
struct Conv {
  size_t sums = 0;
  size_t last = 0;     // `sums`, or elementwise after it
  int64_t joined = 1;  // blocks of `last` whose lanes a block of `sums` has
  topi::ConvExtents extents{};
};

/// A depthwise convolution, and convolutions of one pixel each before and after it.
struct Chain {
  std::optional<Conv> before, after;  // one of them at least
  Conv depthwise;
  int64_t stride = 1, window = 1;  // of the depthwise one, in rows of its image
  size_t result = 0;  // the Dag's: where the last convolution ends, or of another shape
};

struct Plan {
  int64_t rows = 1;           // of the result, per part that threads share
  topi::RegisterTile before;  // tiles of the convolutions ..
  int64_t cells = 1;          // .. of the depthwise one: cells of a row by one block
  topi::RegisterTile after;
};

/// The compute of a chain's convolutions.
inline constexpr const char* kCompute = "chain";

/// Returns the convolutions of a chain with this compute; nullopt for other Dags.
std::optional<Chain> find_chain(const te::Dag& dag);

/// Returns the number of parts of the result's rows, a divisor of them and `least` or more, with
/// which the busiest of the threads has the fewest multiply-adds: each part computes all rows of
/// the image that its first window reads.
int64_t row_parts_of(const Chain& chain, int64_t threads, int64_t least = 1);

/// Schedules such a Dag. Errors: those of the primitives.
Result<te::Schedule> schedule_rows(const te::Dag& dag, const Chain& chain, const Plan& plan);

}  // namespace byoc::llvm_plugin::chain
