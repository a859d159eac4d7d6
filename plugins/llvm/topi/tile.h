#pragma once
// An anchor in tiles that live in registers: sums of a tile are made first, then what stands behind
// the anchor is computed from them and stored.
#include "byoc/te/schedule.h"

namespace byoc::llvm_plugin::topi {

struct Tiling {
  struct Part {
    size_t axis;     // of the anchor's result
    int64_t factor;  // iterations inside a tile
  };
  std::vector<Part> unrolled;  // outer first
  Part vectorized;
  std::vector<size_t> unrolled_reduce;  // reduce axes
  std::vector<size_t> order;            // of all axes around a tile; empty: as they stand

  /// Long sums in chunks of terms, so that what a chunk reads stays in the caches: of a panel of
  /// the result all tiles add up one chunk, then the next. No factor: tiles are summed at once.
  Part chunk{0, 0};         // a reduce axis, which the factor divides
  std::vector<Part> panel;  // axes of the result inside of it, as they are stored; factor 0: whole
};

/// What a Dag with one anchor consists of.
struct AnchorDag {
  size_t anchor;  // the reduction of most terms
  size_t result;  // the stage of the only result: the anchor itself, or elementwise behind it
};
/// nullopt: several results, procedures, another reduction, or a result of another shape.
std::optional<AnchorDag> find_anchor_stage(const te::Dag& dag);

/// Errors: those of the primitives.
Result<te::Schedule> tile_anchor(const te::Dag& dag, const AnchorDag& what, const Tiling& tiling);

}  // namespace byoc::llvm_plugin::topi
