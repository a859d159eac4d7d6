// SPDX-License-Identifier: Apache-2.0
#pragma once
// The most that a choice among several plugins could gain, if borders cost nothing.
#include "core/placement/place.h"

namespace byoc::placement {

/// The costs of a module without its borders, and with one plugin alone; both under the costs that
/// the placements were made with.
struct FreeBorders {
  double free_ns = 0;   // no choice costs less, even if borders are free
  double alone_ns = 0;  // of the cheapest plugin alone, with its borders
  std::string alone;    // its id; a default codegen: it runs everything
  /// The same cost for each plugin that takes some op; infinity where an op has no candidate then.
  std::vector<std::pair<std::string, double>> each;
  /// Returns how many times as fast as that plugin a choice could be at most; 0 without costs.
  double most_gain() const { return free_ns > 0 && alone_ns > 0 ? alone_ns / free_ns : 0; }
};

/// Solves each function once without the costs of borders, and once for each plugin, which then has
/// all ops that it takes, while the default codegens have the rest. The functions have the same
/// plugins. A plugin without which an op has no candidate is left out. Cost: O(plugins) times that
/// of `solve`.
FreeBorders free_borders(const std::vector<FunctionPlacement>& functions);

}  // namespace byoc::placement
