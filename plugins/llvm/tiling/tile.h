// SPDX-License-Identifier: Apache-2.0
#pragma once
// Schedules an anchor in tiles that stay in registers: the sums of a tile are computed first, then
// the stages after the anchor are computed from them and stored.
#include "byoc/te/schedule.h"

namespace byoc::llvm_plugin::topi {

/// The computes of convolutions whose blocks of sums have the lanes of several blocks of channels:
/// of those that read one pixel, and of others.
inline constexpr const char *kJoinedCompute = "pointwise_joined", *kJoinedWindows = "joined";

/// The role of a stage before the anchor that is larger than what it reads: each panel, or chunk,
/// computes the part that it reads, and it is not stored as a constant.
inline constexpr const char* kUnpackedRole = "unpacked";

/// The role of a stage before the anchor whose last dim has elements of as many rows of what it
/// reads: they are stored in turns.
inline constexpr const char* kInterleavedRole = "interleaved";

struct Tiling {
  struct Part {
    size_t axis;     // of the anchor's result
    int64_t factor;  // iterations inside
  };
  std::vector<Part> unrolled;  // of a tile, outer first
  Part vectorized;
  std::vector<size_t> unrolled_reduce;  // reduce axes

  /// The result is made panel by panel: parts of these axes, outer first, 0 for the whole axis. The
  /// tiles of a panel follow each other in the same order of axes. Axes that no panel names stay
  /// outside of them.
  std::vector<Part> panel;
  /// Long sums are made in chunks of terms, so that the data of a chunk stays in the caches: all
  /// tiles of a panel add up one chunk, then the next. No factor: each tile is summed at once.
  Part chunk{0, 0};  // a reduce axis, which the factor divides
};

/// The stages of a Dag with one anchor.
struct AnchorDag {
  size_t anchor;  // the reduction of most terms
  size_t result;  // the stage of the only result: the anchor, or elementwise after it
  /// The anchor's axis that the result has as two, which follow each other; its rank: none.
  size_t fused_axis;
  /// The blocks of the result, along axis 1, whose lanes a block of the anchor has in its last one.
  int64_t joined = 1;
  std::vector<size_t> moved = {};  // results after the anchor that have loops of their own
};
/// Returns nullopt for several results, procedures, another reduction, or a result
/// of another shape.
std::optional<AnchorDag> find_anchor_stage(const te::Dag& dag);
/// The same for a result that has the axes of the anchor, each as one.
std::optional<AnchorDag> find_anchor_of_rows(const te::Dag& dag);
/// Finds an anchor whose sums are stored, and other results computed from them: several, or those
/// of other shapes, such as a slice. nullopt for procedures and another reduction.
std::optional<AnchorDag> find_stored_anchor(const te::Dag& dag);

/// Schedules an anchor; `lanes` are those of results that are moved. Errors: those of the
/// primitives.
Result<te::Schedule> tile_anchor(const te::Dag& dag, const AnchorDag& what, const Tiling& tiling,
                                 int64_t lanes = 1);

}  // namespace byoc::llvm_plugin::topi
