// SPDX-License-Identifier: Apache-2.0
#pragma once
// Splits the products of the phases into parts and tiles of registers, and estimates their time.
#include "plugins/llvm/families/phases/geometry.h"
#include "plugins/llvm/tiling/register_tile.h"

namespace byoc::llvm_plugin::phases {

/// The cells of a part, in memory one row after another with zeros between rows, so that each tap
/// reads the cells of adjacent results at one distance, and vectors need not end where rows do. Or
/// those of each tap of a class for themselves, without zeros between rows: more copies, and fewer
/// vectors of small images.
struct Cells {
  bool is_by_tap = false;
  std::array<int64_t, kDims> stored{};    // cells along a dim
  std::array<int64_t, kDims> distance{};  // from a cell to the next along a dim, in elements
  std::array<int64_t, kDims> first{};     // the first stored cell, relative to the part's first j
  int64_t margin = 0;                     // elements before cell 0 of the dims that share zeros
  int64_t results = 1;                    // places from the first j to the last, and between rows
};

/// The tile of a class: rows of weights by vectors of results.
struct ClassPlan {
  topi::RegisterTile tile;
  int64_t tiles = 1;  // of rows; the last one may have rows of zeros
  int64_t first = 0;  // its first row of sums
};

/// A split: parts of `rows` results along dim `axis`, and of `outputs` channels of a group.
struct Plan {
  size_t axis = 0;
  int64_t rows = 1, outputs = 1;
  int64_t lanes = 1;    // of a vector
  int64_t vectors = 1;  // that cover Cells::results
  int64_t sum_rows = 0;
  Cells cells;
  std::vector<ClassPlan> classes;
  int64_t parts_of(const Geometry& g) const;           // along the axis
  int64_t panels_of(const Geometry& g) const;          // of channels
  int64_t units_of(const Geometry& g) const;           // parts in all, which threads share
  int64_t cells_per_channel(const Geometry& g) const;  // elements
  double cycles = 0;                                   // of one run on the target's threads
};

/// Returns the plan of least estimated cost. `bytes`: of a sum.
Plan best_plan(const Geometry& geometry, const te::Target& target, size_t bytes);
/// Returns the estimated cycles of the sums by their definition, element by element.
double direct_cycles_of(const Geometry& geometry, const te::Target& target);

}  // namespace byoc::llvm_plugin::phases
