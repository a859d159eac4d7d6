// SPDX-License-Identifier: Apache-2.0
#include "core/tools/diff/explanation_diff.h"

#include <algorithm>
#include <map>
#include <set>

#include "byoc/base/json.h"

namespace byoc::driver {
namespace {

constexpr std::string_view kTaken = "taken", kNotReached = "not reached";

struct Verdict {
  std::string plugin, verdict, reason;
};
struct Op {
  std::string op, name, plugin, composite;
  std::vector<Verdict> verdicts;
};
/// The members of an explanation that are compared.
struct Explained {
  std::string model;
  std::vector<std::string> order;
  std::vector<Op> ops;
  std::map<std::pair<std::string, std::string>, std::string> removed;  // op and name to reason
  std::map<std::string, size_t> regions;                               // by plugin
};

using Key = std::pair<std::string, std::string>;  // op and name

std::string text_of(const Json& json, const char* member) {
  return json.at(member).get<std::string>();
}

Op read_op(const Json& json) {
  Op op{text_of(json, "op"),
        text_of(json, "name"),
        text_of(json, "plugin"),
        text_of(json, "composite"),
        {}};
  for (const Json& opinion : json.at("opinions"))
    op.verdicts.push_back(
        {text_of(opinion, "plugin"), text_of(opinion, "verdict"), text_of(opinion, "reason")});
  return op;
}

Explained read_members(const Json& json) {
  Explained out;
  out.model = text_of(json, "model");
  out.order = json.at("order").get<std::vector<std::string>>();
  for (const Json& op : json.at("ops")) out.ops.push_back(read_op(op));
  for (const Json& op : json.at("removed")) {
    std::string reason = text_of(op, "reason");
    out.removed.emplace(
        Key{text_of(op, "op"), text_of(op, "name")},
        cat(text_of(op, "how"), " by ", text_of(op, "pass"), reason.empty() ? "" : ": ", reason));
  }
  for (const Json& plugin : json.at("plugins"))
    out.regions[text_of(plugin, "plugin")] = plugin.at("regions").get<size_t>();
  return out;
}

Result<Explained> read_explained(const Json& json) {
  try {
    return read_members(json);
  } catch (const Json::exception& error) {
    return invalid(cat("no JSON of byoc explain: ", error.what()))
        .with_slug("explanation")
        .with_help("byoc explain MODEL --json=FILE writes one");
  }
}

const Verdict* verdict_of(const Op& op, const std::string& plugin) {
  for (const Verdict& verdict : op.verdicts) {
    if (verdict.plugin == plugin) return &verdict;
  }
  return nullptr;
}

std::string how_it_runs(const Op& op) {
  const Verdict* own = verdict_of(op, op.plugin);
  if (own == nullptr) return "";
  return own->verdict == kTaken ? own->reason : cat(own->verdict, ": ", own->reason);
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += cat(out.empty() ? "" : ", ", word);
  return out;
}

std::string plugin_or_none(const std::string& plugin) {
  return plugin.empty() ? "no plugin" : plugin;
}

class Comparison {
 public:
  Comparison(Explained before, Explained after)
      : before_(std::move(before)), after_(std::move(after)) {}

  ExplanationDiff run() {
    out_.before = joined(before_.order), out_.after = joined(after_.order);
    out_.model_before = before_.model, out_.model_after = after_.model;
    std::map<Key, std::vector<size_t>>
        left;  // the ops before that are not compared yet, last first
    for (size_t k = before_.ops.size(); k-- > 0;)
      left[{before_.ops[k].op, before_.ops[k].name}].push_back(k);
    std::set<size_t> found;
    for (size_t k = 0; k < after_.ops.size(); ++k) {
      auto at = left.find({after_.ops[k].op, after_.ops[k].name});
      if (at == left.end() || at->second.empty()) {
        add(OpChange::kNew, nullptr, &after_.ops[k], reason_of_absence(before_, after_.ops[k]));
        continue;
      }
      size_t other = at->second.back();
      at->second.pop_back();
      found.insert(other);
      compare(before_.ops[other], after_.ops[k]);
    }
    for (size_t k = 0; k < before_.ops.size(); ++k) {
      const Op& op = before_.ops[k];
      if (!found.count(k)) add(OpChange::kGone, &op, nullptr, reason_of_absence(after_, op));
    }
    add_plugins();
    return std::move(out_);
  }

 private:
  static std::optional<OpSide> side(const Explained& explained, const Op* op) {
    if (op == nullptr) return std::nullopt;
    return OpSide{static_cast<size_t>(op - explained.ops.data()), op->plugin, op->composite,
                  how_it_runs(*op)};
  }

  void add(OpChange::Kind kind, const Op* before, const Op* after, std::string reason) {
    const Op& op = after ? *after : *before;
    out_.changes.push_back(
        {kind, op.op, op.name, side(before_, before), side(after_, after), std::move(reason)});
  }

  static std::string reason_of_absence(const Explained& there, const Op& op) {
    auto removed = there.removed.find({op.op, op.name});
    return removed == there.removed.end() ? "the model has no such op" : removed->second;
  }

  void compare(const Op& before, const Op& after) {
    if (before.plugin != after.plugin)
      return add(OpChange::kMoved, &before, &after, reason_of_move(before, after));
    std::string old_how = how_it_runs(before), new_how = how_it_runs(after);
    if (before.composite == after.composite && old_how == new_how) {
      ++out_.same;
      return;
    }
    std::string reason =
        before.composite == after.composite
            ? cat("its implementation is another one")
            : cat("before in ", named_composite(before), ", after in ", named_composite(after));
    add(OpChange::kOtherwise, &before, &after, std::move(reason));
  }

  static std::string named_composite(const Op& op) {
    return op.composite.empty() ? "no composite" : op.composite;
  }

  /// Returns the reason why the plugin that ran the op does not run it after; when it could, the
  /// reason why the other one did not run it before.
  std::string reason_of_move(const Op& before, const Op& after) const {
    auto is_in = [](const std::vector<std::string>& order, const std::string& plugin) {
      return std::find(order.begin(), order.end(), plugin) != order.end();
    };
    if (before.plugin.empty()) return "no plugin took it before";
    if (!is_in(after_.order, before.plugin)) return cat(before.plugin, " is not used");
    const Verdict* now = verdict_of(after, before.plugin);
    if (now != nullptr && now->verdict != kNotReached)
      return cat(before.plugin, " ", now->verdict, ": ", now->reason);
    if (!is_in(before_.order, after.plugin))
      return cat(plugin_or_none(after.plugin), " was not used before");
    const Verdict* then = verdict_of(before, after.plugin);
    if (then != nullptr && then->verdict != kNotReached)
      return cat("before, ", after.plugin, " ", then->verdict, ": ", then->reason);
    return now != nullptr ? now->reason : cat(after.plugin, " comes first");
  }

  void add_plugins() {
    std::map<std::string, PluginShares> shares;
    auto of = [&](const std::string& plugin) -> PluginShares& {
      PluginShares& out = shares[plugin];
      out.plugin = plugin;
      return out;
    };
    for (const Op& op : before_.ops) ++of(op.plugin).ops_before;
    for (const Op& op : after_.ops) ++of(op.plugin).ops_after;
    for (const auto& [plugin, regions] : before_.regions) of(plugin).regions_before = regions;
    for (const auto& [plugin, regions] : after_.regions) of(plugin).regions_after = regions;
    for (auto& [plugin, share] : shares) out_.plugins.push_back(std::move(share));
  }

  Explained before_, after_;
  ExplanationDiff out_;
};

}  // namespace

Result<ExplanationDiff> explanation_diff(const Json& before, const Json& after) {
  BYOC_TRY(Explained one, read_explained(before));
  BYOC_TRY(Explained other, read_explained(after));
  return Comparison(std::move(one), std::move(other)).run();
}

}  // namespace byoc::driver
