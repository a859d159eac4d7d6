// SPDX-License-Identifier: Apache-2.0
#pragma once
// Graphs with open sizes: one program that runs graphs which differ in some extents.
#include "case.h"

namespace byoc::fuzz {

struct Opened {
  IRModule module;           // parameters have open dims
  std::vector<Case> graphs;  // those that it runs: of the given sizes first, then of others
};
/// Puts the graph beside itself on parameters of its own: plugins may share kernels of equal
/// computations, whose sizes have other names and numbers. Opens up to two extents of the
/// parameters, each wherever parameters have it, as long as the types of all ops can be inferred;
/// nullopt where that holds for none. The bounds of an extent n are 1 and 2n + 1.
std::optional<Opened> with_open_sizes(const Case& graph);

}  // namespace byoc::fuzz
