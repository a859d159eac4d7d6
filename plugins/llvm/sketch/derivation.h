// SPDX-License-Identifier: Apache-2.0
#pragma once
// The derivations of a Dag: for each of its main reductions one of the rules that apply to it.
#include <optional>
#include <string>
#include <vector>

#include "byoc/te/target.h"
#include "byoc/te/tensor.h"

namespace byoc::llvm_plugin::sketch {

/// The ways to compute a reduction.
enum class Rule {
  kTiles,  // tile by tile, on several levels, with the stage that reads the results or a copy
  kLanes,  // partial results in the lanes of vectors
  kParts,  // partial results of parts, which threads share
  kLoops   // its own loops
};

/// A reduction and the rules that apply to it, the most promising first.
struct Reduction {
  std::string stage;
  std::vector<Rule> rules;
};

/// Returns the reductions of a Dag that have the most terms, at most as many as give 32
/// derivations, in the order of the Dag. Empty: there are none, or extents are 0 or not known.
std::vector<Reduction> main_reductions(const te::Dag& dag, const te::Target& target);
/// Returns true when all extents are numbers of at least 1, and there is a stage with loops.
bool has_sketches(const te::Dag& dag);

/// Returns the names of all derivations: "tiles-lanes" of two reductions, "loops" without one. The
/// first has the first rule of each reduction.
std::vector<std::string> derivations_of(const std::vector<Reduction>& reductions);
/// Returns the rule of each reduction. Rules that do not apply to it count as kLoops, so that
/// derivations of other Dags are valid too.
std::vector<Rule> rules_in(std::string_view derivation, const std::vector<Reduction>& reductions);

/// The axes of a reduction that a tile of its results spans.
struct TileAxes {
  size_t lanes = 0;              // of the vectors
  std::optional<size_t> rows;    // along which the vectors of operands are read again
  std::optional<size_t> blocks;  // along which the single elements of operands are read again
};
/// Returns nullopt where results cannot be vectors.
std::optional<TileAxes> tile_axes(const te::Compute& reduction);

}  // namespace byoc::llvm_plugin::sketch
