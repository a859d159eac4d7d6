// SPDX-License-Identifier: Apache-2.0
#include "core/tools/show/opinions.h"

namespace byoc::driver {
namespace {

using Remark = Report::Remark;

/// Returns the reason without the plugin's name before it, which is printed separately.
std::string words_of(const Remark& remark) {
  std::string_view reason = remark.reason, prefix = remark.plugin;
  bool named = reason.starts_with(prefix) && reason.substr(prefix.size()).starts_with(": ");
  return std::string(named ? reason.substr(prefix.size() + 2) : reason);
}

}  // namespace

std::string chosen_by_cost(Symbol plugin) {
  return cat("the choice by cost gave the op to ", plugin,
             "; byoc explain --placement --op NAME has the costs");
}

Opinions::Opinions(const Report& report, const OpLabels& labels, const OpRegistry& ops)
    : labels_(labels), ops_(ops), by_label_(labels.ops().size()) {
  for (const Remark& remark : report.remarks) {
    for (Symbol loc : remark.locs) {
      uint32_t label = labels.find(loc);
      if (label != OpLabels::kNone) by_label_[label].push_back(&remark);
    }
  }
}

// Returns kOther for a remark about an op that a pass added, such as a change of layout.
Opinions::Scope Opinions::scope_of(const Remark& remark, uint32_t label, Symbol runs) const {
  if (remark.op == labels_.ops()[label].op.text() || remark.op == runs.text()) return Scope::kOp;
  return ops_.find(remark.op) == nullptr ? Scope::kComposite : Scope::kOther;
}

// Returns the last remark of the narrowest scope.
const Remark* Opinions::how_it_runs(uint32_t label, Symbol plugin, Symbol runs) const {
  const Remark* found = nullptr;
  for (const Remark* remark : by_label_[label]) {
    bool is_how = remark->kind == Remark::kNote || remark->kind == Remark::kSlow;
    if (!is_how || remark->plugin != plugin.text()) continue;
    if (found == nullptr || scope_of(*remark, label, runs) >= scope_of(*found, label, runs))
      found = remark;
  }
  return found;
}

// Returns the reason why a plugin does not run an op; "" without a remark. A remark that it
// declined comes first, because it is the latest. Next is the verdict on the op itself, then the
// one on a composite, the first of which has the highest priority. When no pattern matches the op
// alone, the refusal of the composite is the reason.
std::string Opinions::why_not(uint32_t label, Symbol plugin, Symbol runs,
                              Opinion::Kind& kind) const {
  const Remark *declined = nullptr, *alone = nullptr, *composite = nullptr, *other = nullptr;
  for (const Remark* remark : by_label_[label]) {
    if (remark->plugin != plugin.text()) continue;
    if (remark->kind == Remark::kDeclined) declined = remark;
    if (remark->kind != Remark::kRefused && remark->kind != Remark::kNoPattern &&
        remark->kind != Remark::kCovered)
      continue;
    Scope scope = scope_of(*remark, label, runs);
    if (scope == Scope::kOp) alone = remark;
    if (scope == Scope::kOther) other = remark;
    if (scope == Scope::kComposite && composite == nullptr) composite = remark;
  }
  kind = Opinion::kDeclined;
  if (declined != nullptr) return words_of(*declined);
  kind = Opinion::kRefused;
  if (composite != nullptr && (alone == nullptr || alone->kind == Remark::kNoPattern))
    return cat("as part of ", composite->op, ": ", words_of(*composite));
  if (alone == nullptr) return other == nullptr ? "" : words_of(*other);
  if (alone->kind == Remark::kCovered) kind = Opinion::kCovered;
  return words_of(*alone);
}

std::vector<Opinion> Opinions::about(uint32_t label, const PlacedOp& placed, Symbol runs,
                                     const std::vector<std::string>& plugins, bool by_cost) const {
  std::vector<Opinion> out;
  bool is_taken = false;
  for (Symbol plugin : plugins) {
    if (plugin == placed.plugin) {
      is_taken = true;
      if (const Remark* found = how_it_runs(label, plugin, runs)) {
        bool is_slow = found->kind == Remark::kSlow;
        out.push_back({is_slow ? Opinion::kSlow : Opinion::kTaken, plugin, words_of(*found)});
      }
      continue;
    }
    Opinion::Kind kind = Opinion::kRefused;
    std::string reason = why_not(label, plugin, runs, kind);
    if (reason.empty() && !placed.plugin.empty()) {
      kind = Opinion::kNotReached;
      reason = by_cost    ? chosen_by_cost(placed.plugin)
               : is_taken ? cat(placed.plugin, ", earlier in the list, took it")
                          : cat("annotations in the model give the op to ", placed.plugin);
    }
    if (!reason.empty()) out.push_back({kind, plugin, reason});
  }
  return out;
}

}  // namespace byoc::driver
