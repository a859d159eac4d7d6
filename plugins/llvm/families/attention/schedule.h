// SPDX-License-Identifier: Apache-2.0
#pragma once
// Schedules attention: for a block of queries the scores, their softmax and the product with the
// values, one after the other, while they are in the first caches.
#include "byoc/te/schedule.h"
#include "byoc/te/target.h"
#include "plugins/llvm/tiling/register_tile.h"

namespace byoc::llvm_plugin::attention {

/// The extents; of each head: `rows` queries and `keys` keys of `terms` numbers, and values of
/// `columns` numbers.
struct Shape {
  int64_t heads = 1, rows = 0, keys = 0, terms = 0, columns = 0;
};

struct Plan {
  int64_t rows = 1;            // queries of a block
  topi::RegisterTile scores;   // of the first product
  topi::RegisterTile results;  // of the second
};

/// Returns the extents of a Dag with attention's compute; nullopt for others.
std::optional<Shape> find_shape(const te::Dag& dag);

/// Returns the tiles of a product of a block of rows that take at most a tenth more than the fewest
/// cycles, best first, by the model of register tiles; of equal ones those with fewer loads first.
/// The registers hold the sums, the vectors of a term and an element of a row.
std::vector<topi::RegisterTile> tiles_of(int64_t rows, int64_t columns, const te::Target& target);

/// Returns the plan of the best tiles.
Plan best_plan(const Shape& shape, const te::Target& target);

/// Schedules such a Dag. Errors: those of the primitives.
Result<te::Schedule> schedule_blocks(const te::Dag& dag, const Plan& plan,
                                     const te::Target& target);

}  // namespace byoc::llvm_plugin::attention
