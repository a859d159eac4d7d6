// SPDX-License-Identifier: Apache-2.0
#pragma once
// The schedule of a sketch: a derivation, and the numbers of its tiles and loops.
#include "plugins/llvm/sketch/derivation.h"
#include "plugins/llvm/tiling/staged_schedule.h"

namespace byoc::llvm_plugin::sketch {

/// Factors of two axes of a tile.
struct Factors {
  int64_t rows = 1, lanes = 1;
};

/// The choices of a sketch. Factors that are too large for a Dag count as the largest that fit.
struct SketchRules {
  std::string derivation;
  topi::Inlining inlining = topi::Inlining::kUsual;
  /// Tiles have the levels S0 S1 R0 S2 R1 S3: S are loops over results, R over terms, the outermost
  /// first. S0 has what the other levels leave.
  int64_t sums = 12;         // vectors of S3
  int64_t tile_vectors = 2;  // of a row of S3
  int64_t blocks = 1;        // of S3 along the axis of blocks, or of elementwise stages read across
  Factors middle, outer;     // of S2 and S1, in units of the level inside of them
  int64_t terms = 0;         // of R1 along the longest axis; 0: all
  bool has_fetch = false;    // stages before a tile are computed in S1, as much as it reads
  int64_t partials = 4;      // vectors of partial results
  int64_t unroll = 0;        // vectors that an innermost loop over terms is at most written out as
  int64_t vectors = 0;       // of an iteration of an elementwise loop; 0: one
  size_t depth = 1;          // loops of a result in which the stages before it are computed
  size_t joined = 1;         // innermost loops of elementwise stages that become one
  int64_t grain = 1 << 15;   // operations of a loop that threads share, at least
};

/// Makes the schedule. All steps are primitives, so that the trace replays.
te::Schedule sketch_of(const te::Dag& dag, const te::Target& target, const SketchRules& rules);

}  // namespace byoc::llvm_plugin::sketch
