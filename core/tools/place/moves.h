// SPDX-License-Identifier: Apache-2.0
#pragma once
// Choices near a given one: all ops of a kind move to another plugin, and their neighbours follow.
#include <algorithm>

#include "core/placement/place.h"

namespace byoc::driver {

/// Another choice for some nodes of a problem.
struct Move {
  std::string what;  // the kind of ops and the plugin, for people
  std::vector<std::pair<uint32_t, uint8_t>>
      changes;              // node of the problem and its state, ascending
  double predicted_ns = 0;  // added to the cost of the function
  double border_ns = 0;     // the part of it that is borders'
  double stake_ns = 0;      // cost of these nodes until now
  /// Returns the gain if the present cost is too low by the share kDoubt, and borders cost too
  /// much by kBorderDoubt. Example: a stake of 1000, predicted_ns = 150 and border_ns = 100 give
  /// 0.2 * 1000 - 150 + 0.8 * 100 = 130, so the move is worth a measurement.
  double hope_ns() const {
    return kDoubt * stake_ns - predicted_ns + kBorderDoubt * std::max(border_ns, 0.0);
  }
  static constexpr double kDoubt = 0.2, kBorderDoubt = 0.8;
};

/// Returns the states of `placement.problem` that `placement.chosen` has.
std::vector<uint8_t> states_of(const placement::FunctionPlacement& placement);

/// Lists the moves from `state`. Ops are of a kind when their candidates have equal texts; and, for
/// wider moves, when their work is of one class. For each kind and each other plugin that takes one
/// of its ops, those move that it takes, ops at most two edges away are chosen anew by cost, once
/// with the costs of borders and once with a share of them, and all others stay. Cost: O(plugins
/// (nodes + edges)) for bounded degrees. The most hopeful come first.
std::vector<Move> moves_from(const IRModule& module, const placement::FunctionPlacement& placement,
                             const std::vector<uint8_t>& state);

}  // namespace byoc::driver
