// SPDX-License-Identifier: Apache-2.0
#pragma once
// The ops that two explanations place differently, with the reasons.
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "byoc/base/status.h"

namespace byoc::driver {

/// An op in one explanation.
struct OpSide {
  size_t index = 0;  // in the explanation's list "ops"
  std::string plugin, composite;
  std::string how;  // "slow: ...", or the implementation that the plugin names
};

struct OpChange {
  enum Kind {
    kMoved,      // another plugin runs it
    kOtherwise,  // the same plugin runs it, in another composite or by another implementation
    kGone,       // it runs before alone
    kNew         // it runs after alone
  };
  Kind kind = kMoved;
  std::string op, name;
  std::optional<OpSide> before, after;
  std::string reason;  // why it is not run as before
};

/// A plugin's share of both models.
struct PluginShares {
  std::string plugin;
  size_t ops_before = 0, ops_after = 0, regions_before = 0, regions_after = 0;
};

struct ExplanationDiff {
  std::string before, after;  // "onednn, llvm": the plugins in order of priority
  std::string model_before, model_after;
  std::vector<PluginShares> plugins;  // by id
  size_t same = 0;                    // ops that run as before
  std::vector<OpChange> changes;      // in the order of the ops after; gone ones come last
};

/// Compares two explanations, as `byoc explain --json` prints them. Ops are the same when kind and
/// name are; of several equal ones the k-th is compared with the k-th. Errors: slug "explanation"
/// when a value has not the form of byoc.explain/1. Cost: O(ops * plugins).
Result<ExplanationDiff> explanation_diff(const nlohmann::ordered_json& before,
                                         const nlohmann::ordered_json& after);

/// Returns a table of plugins, then the changes grouped by plugins and reason.
std::string diff_text(const ExplanationDiff& diff);
/// Returns the fields of byoc.explain-diff/1.
nlohmann::ordered_json diff_json(const ExplanationDiff& diff);

}  // namespace byoc::driver
