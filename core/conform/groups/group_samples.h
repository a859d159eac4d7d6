// SPDX-License-Identifier: Apache-2.0
#pragma once
// Graphs of several ops, of which a default codegen may compile some to one kernel.
#include "core/conform/samples/samples.h"

namespace byoc::conform {

/// A module whose `main` has ops alone, each with a loc of its own.
struct GroupSample {
  std::string label;
  IRModule module;
  std::vector<Domain> domains;  // per parameter
};

/// Returns graphs that are often fused: products with softmax, attention, normalisations, blocks of
/// convolutions; also with values that are read twice.
std::vector<GroupSample> written_samples();

/// Returns b(a(..), ..), whose first op is called "first" and the other one "second"; nothing
/// unless a's one result has the type of b's first operand.
std::optional<GroupSample> chained(const Program& a, const Program& b);

}  // namespace byoc::conform
