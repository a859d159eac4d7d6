// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds the best split of sums of products, by a model of the registers and the first two caches.
#include "byoc/te/target.h"
#include "plugins/llvm/tiling/register_tile.h"

namespace byoc::llvm_plugin::topi {

/// The sums to compute: n images of `units` units, of which each holds `cells` cells: rows of
/// pixels, or single pixels, or rows of a matrix. Every cell has o blocks of sums, each over c
/// blocks of terms.
struct Sums {
  int64_t n = 1, o = 1, units = 1, cells = 1, c = 1;
  int64_t taps = 1;         // terms in a block
  int64_t lanes = 8;        // sums in a block of o, all from one vectorised loop
  int64_t registers = 1;    // registers that they fill
  int64_t block_bytes = 4;  // of a cell's input, for a block of terms
  /// The input of a panel of units, in units: (units - 1) * step + reach, of input_cells cells.
  int64_t step = 1, reach = 1, input_cells = 1;
  bool is_flat = false;     // a unit is one cell, and tiles span several
  int64_t row_bytes = 0;    // from a cell's input to that of the next; 0: adjacent, or not known
  bool is_strided = false;  // gaps between blocks of c, none within one
  bool may_join_blocks = true;  // a tile may have several blocks of o
  int64_t input_bytes(int64_t panel_units, int64_t blocks) const {
    return ((panel_units - 1) * step + reach) * input_cells * blocks * block_bytes;
  }
  int64_t weight_bytes(int64_t o_blocks, int64_t blocks) const {
    return o_blocks * blocks * taps * lanes * 4;
  }
};

/// A split: panels of `o_panel` blocks and `units`, in which all tiles add up one chunk of terms
/// before they begin the next.
struct Plan {
  RegisterTile tile;               // vectors: blocks of o
  int64_t chunk = 0;               // blocks of terms, a divisor of c
  int64_t o_panel = 0, units = 0;  // of a panel
};
/// Returns the plan of least cost; of equal ones the first.
Plan best_plan(const Sums& sums, const te::Target& target);
/// Returns the plan with other panels where these let the target's threads finish sooner, and with
/// a smaller tile where equal shares need one. Plans for one thread and short sums stay the same.
Plan shared_plan(const Sums& sums, const Plan& plan, const te::Target& target);
/// Returns the plan with panels of fewer columns, a share for each of the target's threads: where
/// the number of rows is not known, few of them are one panel.
Plan plan_of_shared_columns(const Sums& sums, const Plan& plan, const te::Target& target);
/// Returns the plan for a convolution on the target's threads: where the weights are few, all
/// blocks by equal parts of the image, which the threads get in order. Each then has the same rows
/// of one image after the other, and finds in its own caches what it reads. Otherwise, and where no
/// parts are equal, that of shared_plan.
Plan shared_image_plan(const Sums& sums, const Plan& plan, const te::Target& target);
/// Returns all plans that best_plan compares, by rising cost.
std::vector<Plan> ranked_plans(const Sums& sums, const te::Target& target);

}  // namespace byoc::llvm_plugin::topi
