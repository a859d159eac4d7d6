// SPDX-License-Identifier: Apache-2.0
#pragma once
// A space as a grid: each knob is an axis, and the index of its value the coordinate.
#include <optional>
#include <unordered_set>
#include <vector>

#include "byoc/tune/space.h"
#include "core/tuner/search/random.h"

namespace byoc::tune {

/// The index of the value of each knob, in the order of the space's knobs.
using Genes = std::vector<uint32_t>;

/// Hashes genes; for look-ups alone, never for an order.
struct GenesHash {
  size_t operator()(const Genes& genes) const;
};
/// A set for look-ups.
using GenesSet = std::unordered_set<Genes, GenesHash>;

/// Returns the numbers of a value that consists of them: 6 of "6", 6 and 2 of "6x2". Other texts
/// have no numbers.
std::vector<double> numbers_of(std::string_view value);
/// Returns log2 of a positive number. Others get values below those of 1 and more, in their order.
double log_of(double number);

/// Moves in a space. Keeps a reference to it.
class Grid {
 public:
  explicit Grid(const Space& space);
  const Space& space() const { return *space_; }
  /// Returns the number of points; 0 when a knob has no value.
  double size() const { return size_; }
  /// Returns the point of genes of this grid.
  Point point(const Genes& genes) const;
  /// Returns nullopt for a point outside of the space.
  std::optional<Genes> genes(const Point& point) const;
  /// Returns the point of this space that is most like a point of another: numbers become the
  /// nearest ones by ratio, other knobs keep those values that they have here. What is left is
  /// taken from `rest`.
  Genes nearest(const Point& point, const Genes& rest) const;
  /// Returns a point, each with the same probability. The size must not be 0.
  Genes random(Random& random) const;
  /// Returns a random point that is not in `visited`; nullopt when there is none.
  /// Cost: expected O(visited) at most.
  std::optional<Genes> random_outside(const GenesSet& visited, Random& random) const;
  /// Moves to the next point in lexical order; the first one comes after the last.
  void advance(Genes& genes) const;
  /// Changes one knob that has a choice: to the next smaller or greater value, or to any other.
  void mutate(Genes& genes, Random& random) const;

 private:
  const Space* space_;
  double size_ = 1;
  std::vector<size_t> free_;  // knobs of two or more values
};

}  // namespace byoc::tune
