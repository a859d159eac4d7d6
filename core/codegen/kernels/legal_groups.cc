// SPDX-License-Identifier: Apache-2.0
#include "core/codegen/kernels/legal_groups.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "byoc/base/check.h"
#include "core/codegen/kernels/strong_components.h"
#include "core/region/judge.h"

namespace byoc {
namespace {

constexpr uint32_t kNothing = UINT32_MAX;
constexpr size_t kNamedOps = 4;  // ops that a remark lists
constexpr int kMostRounds = 8;   // that refuse one group of each cycle

std::string list_of(const Function& function, std::span<const uint32_t> nodes) {
  std::string out;
  const size_t named = std::min(nodes.size(), kNamedOps);
  for (size_t k = 0; k < named; ++k) {
    const Symbol loc = function.nodes[nodes[k]].loc;
    const bool is_end = k + 1 == nodes.size();
    out += k == 0 ? "" : is_end ? " and " : ", ";
    out += loc.empty() ? node_name(function, nodes[k]) : cat("\"", loc, "\"");
  }
  return named == nodes.size() ? out : cat(out, " and ", nodes.size() - named, " more");
}

/// The ops of a function with closed regions and groups contracted.
struct Items {
  std::vector<uint32_t> of;     // per node; kNothing: parameter, constant, annotation
  std::vector<uint32_t> group;  // per item; kNothing: no group
  std::vector<uint32_t> first;  // per item: its first node
  Edges edges;                  // from what is read to readers, repeated ones kept
};

class GroupChecker {
 public:
  GroupChecker(const IRModule& module, const Function& function, const Annotations& annotations,
               std::vector<KernelGroup> groups, const PassContext& context)
      : module_(module),
        function_(function),
        annotations_(annotations),
        context_(context),
        groups_(std::move(groups)),
        owner_(function.nodes.size(), kNothing),
        is_refused_(groups_.size(), false) {}
  std::vector<KernelGroup> run();

 private:
  void refuse(uint32_t group, std::string_view why);
  void check_limits(uint32_t group);
  void take_nodes(uint32_t group);
  Items contract() const;
  void add_edges(Items& items) const;
  std::vector<uint32_t> in_cycles(const Items& items, const std::vector<uint32_t>& component,
                                  bool all) const;
  std::string why_not_convex(const Items& items, const std::vector<uint32_t>& component,
                             uint32_t group) const;
  bool refuse_cycles(bool all);
  std::string name(uint32_t group) const {
    return cat("group \"", groups_[group].name, "\" of ", groups_[group].plugin);
  }

  const IRModule& module_;
  const Function& function_;
  const Annotations& annotations_;
  const PassContext& context_;
  std::vector<KernelGroup> groups_;
  std::vector<uint32_t> owner_;  // per node: its group
  std::vector<bool> is_refused_;
};

void GroupChecker::refuse(uint32_t group, std::string_view why) {
  is_refused_[group] = true;
  for (uint32_t node : groups_[group].nodes) {
    if (owner_[node] == group) owner_[node] = kNothing;
  }
  context_.remark({Report::Remark::kNote,
                   groups_[group].plugin.str(),
                   "group",
                   {},
                   cat(name(group), " is refused: ", why)});
}

void GroupChecker::check_limits(uint32_t group) {
  const Plugin* plugin = context_.plugins->find(groups_[group].plugin.str());
  if (plugin == nullptr) return;
  uint64_t ops = 0, bytes = 0;
  for (uint32_t node : groups_[group].nodes) {
    ops += op_count(module_, function_.nodes[node]);
    bytes += byte_count(function_, node);
  }
  const std::string what = list_of(function_, groups_[group].nodes);
  if (ops > plugin->max_ops())
    return refuse(group, cat(what, " are ", ops, " ops, and a region of ", plugin->id(),
                             " has at most ", plugin->max_ops()));
  if (plugin->max_bytes() > 0 && bytes > plugin->max_bytes())
    refuse(group, cat(what, " have ", bytes, " bytes, and a region of ", plugin->id(),
                      " has at most ", plugin->max_bytes()));
}

// Makes the group the owner of its nodes, or refuses it when one has an owner.
void GroupChecker::take_nodes(uint32_t group) {
  std::vector<uint32_t> shared;
  uint32_t other = kNothing;
  for (uint32_t node : groups_[group].nodes) {
    if (owner_[node] == kNothing) continue;
    if (other == kNothing) other = owner_[node];
    if (owner_[node] == other) shared.push_back(node);
  }
  if (other != kNothing)
    return refuse(group,
                  cat(list_of(function_, shared), shared.size() == 1 ? " belongs" : " belong",
                      " also to group \"", groups_[other].name, "\""));
  for (uint32_t node : groups_[group].nodes) owner_[node] = group;
}

Items GroupChecker::contract() const {
  Items out;
  out.of.assign(function_.nodes.size(), kNothing);
  std::vector<uint32_t> of_group(groups_.size(), kNothing);
  std::vector<uint32_t> of_region(annotations_.regions.size(), kNothing);
  for (uint32_t node = 0; node < function_.nodes.size(); ++node) {
    const Node& n = function_.nodes[node];
    if (std::holds_alternative<Param>(n.kind) || std::holds_alternative<Constant>(n.kind) ||
        is_annotation(n))
      continue;
    const uint32_t region = annotations_.region_of[node], group = owner_[node];
    uint32_t* item = group != kNothing ? &of_group[group] : nullptr;
    if (item == nullptr && region != kOutside && !annotations_.regions[region].open)
      item = &of_region[region];
    if (item == nullptr || *item == kNothing) {
      out.of[node] = static_cast<uint32_t>(out.group.size());
      out.group.push_back(group);
      out.first.push_back(node);
      if (item != nullptr) *item = out.of[node];
    } else {
      out.of[node] = *item;
    }
  }
  add_edges(out);
  return out;
}

void GroupChecker::add_edges(Items& items) const {
  Edges& edges = items.edges;
  edges.first.assign(items.group.size() + 1, 0);
  auto for_each = [&](auto&& visit) {
    for (uint32_t node = 0; node < function_.nodes.size(); ++node) {
      if (items.of[node] == kNothing) continue;
      for (ValueId arg : function_.args(function_.nodes[node])) {
        const uint32_t from = items.of[through_annotations(function_, arg).node];
        if (from != kNothing && from != items.of[node]) visit(from, items.of[node]);
      }
    }
  };
  for_each([&](uint32_t from, uint32_t) { ++edges.first[from + 1]; });
  std::partial_sum(edges.first.begin(), edges.first.end(), edges.first.begin());
  edges.target.resize(edges.first.back());
  std::vector<uint32_t> next(edges.first.begin(), edges.first.end() - 1);
  for_each([&](uint32_t from, uint32_t to) { edges.target[next[from]++] = to; });
}

// Returns the groups to refuse: of each component with several items the one whose first and last
// node have most nodes between them, or all of them.
std::vector<uint32_t> GroupChecker::in_cycles(const Items& items,
                                              const std::vector<uint32_t>& component,
                                              bool all) const {
  std::vector<uint32_t> size(items.group.size(), 0), widest(items.group.size(), kNothing), out;
  for (uint32_t of : component) ++size[of];
  auto span = [&](uint32_t group) {
    return groups_[group].nodes.back() - groups_[group].nodes.front();
  };
  for (uint32_t item = 0; item < items.group.size(); ++item) {
    const uint32_t group = items.group[item], at = component[item];
    if (group == kNothing || size[at] == 1) continue;
    if (all) out.push_back(group);
    else if (widest[at] == kNothing || span(group) >= span(widest[at])) widest[at] = group;
  }
  for (uint32_t group : widest) {
    if (group != kNothing) out.push_back(group);
  }
  std::ranges::sort(out);
  return out;
}

// Follows edges from the group through the ops of its component that are in no group. When they
// lead back, the group is not convex, else it reaches another group.
std::string GroupChecker::why_not_convex(const Items& items, const std::vector<uint32_t>& component,
                                         uint32_t group) const {
  const uint32_t start = items.of[groups_[group].nodes[0]];
  std::unordered_map<uint32_t, uint32_t> first_of;  // per item that a path leads to: its first item
  std::vector<uint32_t> met = {start};
  uint32_t other = kNothing;
  for (size_t k = 0; k < met.size(); ++k) {
    for (uint32_t e = items.edges.first[met[k]]; e < items.edges.first[met[k] + 1]; ++e) {
      const uint32_t to = items.edges.target[e];
      const uint32_t between = k == 0 ? to : first_of.at(met[k]);
      if (to == start)
        return cat("not convex: ", list_of(function_, {&items.first[between], 1}), " lies between ",
                   list_of(function_, groups_[group].nodes));
      if (component[to] != component[start] || !first_of.try_emplace(to, between).second) continue;
      if (items.group[to] == kNothing) met.push_back(to);
      else other = std::min(other, items.group[to]);
    }
  }
  BYOC_CHECK(other < groups_.size(), name(group), " is in a cycle without another group");
  return cat(list_of(function_, groups_[group].nodes), " and group \"", groups_[other].name,
             "\" would each read a value of the other");
}

// Refuses groups in cycles: one of each component, whose reason takes O(component) to find, or all.
// Returns false when there is none.
bool GroupChecker::refuse_cycles(bool all) {
  const Items items = contract();
  const std::vector<uint32_t> component = strong_components(items.edges);
  const std::vector<uint32_t> found = in_cycles(items, component, all);
  for (uint32_t group : found)
    refuse(group, all ? cat(list_of(function_, groups_[group].nodes),
                            " and other groups would each read values of the others")
                      : why_not_convex(items, component, group));
  return !found.empty();
}

std::vector<KernelGroup> GroupChecker::run() {
  for (uint32_t group = 0; group < groups_.size(); ++group) {
    check_limits(group);
    if (!is_refused_[group]) take_nodes(group);
  }
  for (int round = 0; round <= kMostRounds && refuse_cycles(round == kMostRounds);) ++round;
  std::vector<KernelGroup> out;
  for (uint32_t group = 0; group < groups_.size(); ++group) {
    if (!is_refused_[group]) out.push_back(std::move(groups_[group]));
  }
  return out;
}

}  // namespace

std::vector<KernelGroup> legal_groups(const IRModule& module, const Function& function,
                                      const Annotations& annotations,
                                      std::vector<KernelGroup> requested,
                                      const PassContext& context) {
  if (requested.empty()) return requested;
  return GroupChecker(module, function, annotations, std::move(requested), context).run();
}

}  // namespace byoc
