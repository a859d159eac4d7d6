// SPDX-License-Identifier: Apache-2.0
#pragma once
// All ways to run the ops of a function: every plugin judges every op and every match, and the
// refusals are kept.
#include "byoc/pass/pattern.h"
#include "core/placement/copies/copies.h"
#include "core/placement/costs.h"
#include "core/region/judge.h"

namespace byoc::placement {

inline constexpr uint32_t kNone = UINT32_MAX;
/// The most candidates of an op; of more matches those of lower priority are left out.
inline constexpr size_t kMostCandidates = 12;

struct Candidate {
  uint32_t plugin = 0;   // in Candidates::plugins
  uint32_t pattern = 0;  // of a match of several ops: in Plugin::patterns()
  uint32_t root = 0;
  uint32_t match = kNone;  // in Candidates::matches; kNone: the op alone
  bool is_rest = false;    // the default codegen gets it without an annotation
  CandidateCost cost;
  Verdict verdict;
  std::string text;  // canonical_text
};

/// A plugin's "no" about an op, or about a match with that root.
struct Refusal {
  uint32_t node = 0, plugin = 0;
  std::string what, reason;  // what: the op, or the composite's name
};

struct Candidates {
  /// The plugins that are offered ops, in order of priority; then the default codegens.
  std::vector<const Plugin*> plugins;
  size_t first_default = 0;  // index of the first default codegen
  /// The place of each plugin's values: kHostPlace, or the number of its device from 1.
  std::vector<uint8_t> place_of;
  std::vector<Link> links;  // of devices 1, 2, ...
  std::vector<Candidate> all;
  std::vector<Match> matches;
  std::vector<std::vector<uint32_t>> of_node;  // in `all`; empty: not for the solver
  std::vector<Refusal> refusals;
  /// Returns the ops that the candidate runs, ascending.
  std::span<const uint32_t> nodes_of(const Candidate& candidate) const {
    if (candidate.match == kNone) return {&candidate.root, 1};
    return matches[candidate.match].nodes;
  }
};

/// Lists the candidates of `function`, which is in `module`. `module` is left as it was.
Result<Candidates> find_candidates(IRModule& module, Symbol name,
                                   const std::vector<std::string>& plugins, const Costs& costs,
                                   const PassContext& context);

}  // namespace byoc::placement
