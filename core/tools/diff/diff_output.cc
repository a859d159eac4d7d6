// SPDX-License-Identifier: Apache-2.0
// A diff of explanations as text and as JSON.
#include <algorithm>
#include <map>

#include "byoc/base/json.h"
#include "core/tools/diff/explanation_diff.h"
#include "runtime/cli/output.h"

namespace byoc::driver {
namespace {

constexpr size_t kShownNames = 2, kShownRows = 20, kReasonWidth = 100;

std::string_view kind_text(OpChange::Kind kind) {
  switch (kind) {
    case OpChange::kMoved:
      return "moved";
    case OpChange::kOtherwise:
      return "runs otherwise";
    case OpChange::kGone:
      return "gone";
    case OpChange::kNew:
      break;
  }
  return "new";
}

std::string named(const std::string& plugin) { return plugin.empty() ? "no plugin" : plugin; }

/// Returns "onednn -> llvm", "onednn, otherwise", "onednn -> does not run".
std::string title_of(const OpChange& change) {
  if (!change.after) return cat(named(change.before->plugin), " -> does not run");
  if (!change.before) return cat("does not run -> ", named(change.after->plugin));
  if (change.kind == OpChange::kOtherwise) return cat(named(change.after->plugin), ", otherwise");
  return cat(named(change.before->plugin), " -> ", named(change.after->plugin));
}

/// Returns at most `limit` bytes of a reason or a name, and no part of a character.
std::string shortened(const std::string& text, size_t limit) {
  if (text.size() <= limit) return text;
  size_t end = limit;
  while (end > 0 && (text[end] & 0xc0) == 0x80) --end;
  return cat(text.substr(0, end), "...");
}

struct Row {
  size_t count = 0;
  std::vector<std::string> names;  // the first few
};
struct Group {
  size_t count = 0;
  std::map<std::pair<std::string, std::string>, Row> rows;  // by op and reason
};

template <class Map>
std::vector<const typename Map::value_type*> by_count(const Map& map) {
  std::vector<const typename Map::value_type*> sorted;
  for (const auto& item : map) sorted.push_back(&item);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](auto* a, auto* b) { return a->second.count > b->second.count; });
  return sorted;
}

std::string rows_text(const Group& group) {
  cli::Table table({">", "", "", ""});
  auto sorted = by_count(group.rows);
  for (size_t k = 0; k < sorted.size() && k < kShownRows; ++k) {
    const auto& [what, row] = *sorted[k];
    std::string names;
    for (const std::string& name : row.names)
      names += cat(names.empty() ? "\"" : ", \"", name, "\"");
    if (row.count > row.names.size()) names += cat(" and ", row.count - row.names.size(), " more");
    table.add({cat(row.count), what.first, shortened(what.second, kReasonWidth), names});
  }
  std::string text = table.text(), out;
  for (size_t begin = text.find('\n') + 1; begin < text.size();) {  // without the titles
    size_t end = text.find('\n', begin) + 1;
    out += "  " + text.substr(begin, end - begin);
    begin = end;
  }
  if (sorted.size() > kShownRows)
    out += cat("  ... and ", sorted.size() - kShownRows, " more reasons; all with --json\n");
  return out;
}

std::string groups_text(const std::vector<OpChange>& changes) {
  std::map<std::string, Group> groups;
  for (const OpChange& change : changes) {
    Group& group = groups[title_of(change)];
    Row& row = group.rows[{change.op, change.reason}];
    ++group.count;
    ++row.count;
    if (row.names.size() < kShownNames) row.names.push_back(shortened(change.name, 60));
  }
  std::string out;
  for (const auto* item : by_count(groups))
    out += cat(item->first, " (", item->second.count, ")\n", rows_text(item->second));
  return out;
}

Json side_json(const std::optional<OpSide>& side) {
  if (!side) return nullptr;
  return {{"index", side->index},
          {"plugin", side->plugin},
          {"composite", side->composite},
          {"how", side->how}};
}

}  // namespace

std::string diff_text(const ExplanationDiff& diff) {
  cli::Table table({"plugin", ">ops before", ">after", ">regions before", ">after"});
  for (const PluginShares& one : diff.plugins)
    table.add({named(one.plugin), cat(one.ops_before), cat(one.ops_after), cat(one.regions_before),
               cat(one.regions_after)});
  std::string models =
      diff.model_before == diff.model_after
          ? ""
          : cat("models: before ", diff.model_before, ", after ", diff.model_after, "\n");
  return cat("before: ", diff.before, "   after: ", diff.after, "\n", models, table.text(),
             groups_text(diff.changes), diff.changes.size(),
             diff.changes.size() == 1 ? " op differs, " : " ops differ, ", diff.same,
             diff.same == 1 ? " runs as before\n" : " run as before\n");
}

Json diff_json(const ExplanationDiff& diff) {
  Json plugins = Json::array(), ops = Json::array();
  for (const PluginShares& one : diff.plugins) {
    plugins.push_back({{"plugin", one.plugin},
                       {"ops_before", one.ops_before},
                       {"ops_after", one.ops_after},
                       {"regions_before", one.regions_before},
                       {"regions_after", one.regions_after}});
  }
  for (const OpChange& change : diff.changes) {
    ops.push_back({{"op", change.op},
                   {"name", change.name},
                   {"change", kind_text(change.kind)},
                   {"before", side_json(change.before)},
                   {"after", side_json(change.after)},
                   {"reason", change.reason}});
  }
  return {{"before", diff.before},
          {"after", diff.after},
          {"model_before", diff.model_before},
          {"model_after", diff.model_after},
          {"plugins", plugins},
          {"same", diff.same},
          {"ops", ops}};
}

}  // namespace byoc::driver
