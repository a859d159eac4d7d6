// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds points with good predictions among more points than can be scored one by one.
#include <functional>

#include "core/tuner/search/grid.h"

namespace byoc::tune {

/// Returns a score per point: greater is better.
using Score = std::function<std::vector<float>(const std::vector<Genes>& points)>;

/// The numbers of an evolution.
struct EvolutionOptions {
  size_t population = 256;      ///< points of a generation
  size_t generations = 4;       ///< after the first one
  double mutation_share = 0.9;  ///< children of one parent with a knob changed; others have two
  /// Points of one call differ in more than this number of knobs, as long as there are such:
  /// several that are alike would teach the model less.
  size_t spread = 2;
  size_t enumerate_up_to = 1024;  ///< spaces of at most so many points are scored as a whole
};

/// Returns the `count` points outside of `visited` with the best scores that were found, best
/// first; fewer when the space has no more. The first generation has `parents` and random points.
/// Deterministic for the state of `random`.
std::vector<Genes> evolve(const Grid& grid, const std::vector<Genes>& parents,
                          const GenesSet& visited, const Score& score,
                          const EvolutionOptions& options, size_t count, Random& random);

/// Returns the `count` points outside of `visited` with the best scores among those that differ
/// from `genes` in one knob, best first.
std::vector<Genes> best_neighbours(const Grid& grid, const Genes& genes, const GenesSet& visited,
                                   const Score& score, size_t count);

}  // namespace byoc::tune
