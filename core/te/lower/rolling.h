// SPDX-License-Identifier: Apache-2.0
#pragma once
// Boxes that move with a loop, of which each iteration computes what is new (rolling_buffer).
#include <span>

#include "core/te/lower/region.h"

namespace byoc::te {

/// A loop around a place: its variable goes up by one from `begin`.
struct OuterLoop {
  size_t stage;   // whose loop it is
  uint32_t iter;  // .. and which
  Var var;
  Expr begin;
  /// It runs in each iteration of the loop around it, as often in each, and one after the other.
  bool is_steady;
};

/// A box that moves with a loop, and memory that its iterations share.
struct Rolling {
  OuterLoop loop;
  size_t dim;                 // along which it moves; index i is at i % extent there
  std::vector<Range> part;    // of the box: what no iteration before has computed
  std::vector<Range> memory;  // of all that an iteration of the loop reads
};

/// Returns nullopt when there is nothing to keep, so that the whole box is to be computed: the box
/// moves with loops[at] along no dimension, along several, backwards, or with loops inside along
/// the same one; or what is inside the loop does not run alike in its iterations. `loops`: those
/// around the place, outermost first. `shape`: of the tensor.
std::optional<Rolling> rolling_of(const std::vector<Range>& box, const Exprs& shape,
                                  std::span<const OuterLoop> loops, size_t at,
                                  Simplifier& simplify);

}  // namespace byoc::te
