// SPDX-License-Identifier: Apache-2.0
#include "core/region/quotient.h"

#include <algorithm>
#include <numeric>
#include <queue>

#include "byoc/base/check.h"

namespace byoc {
namespace {

class Contracter {
 public:
  Contracter(const Function& function, const Annotations& annotations, bool contract_open,
             Symbol name)
      : function_(function),
        annotations_(annotations),
        contract_open_(contract_open),
        name_(name) {}
  Result<Quotient> run();

 private:
  void make_items();
  void make_edges();
  Status cycle_error(const std::vector<uint32_t>& waiting) const;
  std::string describe(uint32_t item) const {
    uint32_t region = region_[item];
    if (region == kOutside) return node_name(function_, first_node_[item]);
    const Region& r = annotations_.regions[region];
    return cat("region ", r.number, " (", r.compiler, ", with ",
               node_name(function_, first_node_[item]), ")");
  }

  const Function& function_;
  const Annotations& annotations_;
  bool contract_open_;
  Symbol name_;
  std::vector<uint32_t> item_of_, region_, first_node_;  // items in order of their first op
  std::vector<uint32_t> out_first_, out_;                // edges, repeated ones kept
};

void Contracter::make_items() {
  item_of_.assign(function_.nodes.size(), kNoItem);
  std::vector<uint32_t> item_of_region(annotations_.regions.size(), kNoItem);
  for (uint32_t node = 0; node < function_.nodes.size(); ++node) {
    const Node& n = function_.nodes[node];
    if (std::holds_alternative<Param>(n.kind) || std::holds_alternative<Constant>(n.kind) ||
        is_annotation(n))
      continue;
    uint32_t region = annotations_.region_of[node];
    bool contract = region != kOutside && (contract_open_ || !annotations_.regions[region].open);
    if (contract && item_of_region[region] != kNoItem) {
      item_of_[node] = item_of_region[region];
      continue;
    }
    item_of_[node] = static_cast<uint32_t>(region_.size());
    if (contract) item_of_region[region] = item_of_[node];
    region_.push_back(contract ? region : kOutside);
    first_node_.push_back(node);
  }
}

void Contracter::make_edges() {
  out_first_.assign(region_.size() + 1, 0);
  auto for_each_edge = [&](auto&& visit) {
    for (uint32_t node = 0; node < function_.nodes.size(); ++node) {
      if (item_of_[node] == kNoItem) continue;
      for (ValueId arg : function_.args(function_.nodes[node])) {
        uint32_t from = item_of_[through_annotations(function_, arg).node];
        if (from != kNoItem && from != item_of_[node]) visit(from, item_of_[node]);
      }
    }
  };
  for_each_edge([&](uint32_t from, uint32_t) { ++out_first_[from + 1]; });
  std::partial_sum(out_first_.begin(), out_first_.end(), out_first_.begin());
  out_.resize(out_first_.back());
  std::vector<uint32_t> next(out_first_.begin(), out_first_.end() - 1);
  for_each_edge([&](uint32_t from, uint32_t to) { out_[next[from]++] = to; });
}

// Names a cycle among the items that remain after Kahn's algorithm: follows their edges backwards
// until an item comes a second time.
Status Contracter::cycle_error(const std::vector<uint32_t>& waiting) const {
  std::vector<uint32_t> before(region_.size(), kNoItem);
  for (uint32_t item = 0; item < region_.size(); ++item) {
    if (waiting[item] == 0) continue;
    for (uint32_t k = out_first_[item]; k < out_first_[item + 1]; ++k) before[out_[k]] = item;
  }
  uint32_t at = 0;
  while (waiting[at] == 0) ++at;
  std::vector<uint8_t> seen(region_.size(), 0);
  while (!seen[at]) {
    seen[at] = 1;
    at = before[at];
  }
  std::vector<uint32_t> cycle = {at};
  for (uint32_t item = before[at]; item != at; item = before[item]) cycle.push_back(item);
  std::reverse(cycle.begin() + 1, cycle.end());
  size_t regions = 0;
  std::string path;
  for (size_t k = 0; k <= cycle.size(); ++k) {
    uint32_t item = cycle[k % cycle.size()];
    if (k < cycle.size()) regions += region_[item] != kOutside;
    if (k < 8 || k == cycle.size()) path += cat(k ? " -> " : "", describe(item));
    else if (k == 8) path += " -> ...";
  }
  std::string what = regions > 1 ? "regions depend on each other in a cycle: "
                                 : "a region is not convex, a value leaves it and comes back: ";
  return invalid(what + path)
      .with_slug("annotation")
      .at(cat("@", name_))
      .with_help("split the region, or annotate the ops in between as well");
}

Result<Quotient> Contracter::run() {
  make_items();
  make_edges();
  uint32_t n = static_cast<uint32_t>(region_.size());
  std::vector<uint32_t> waiting(n, 0), number(n, kNoItem);
  for (uint32_t to : out_) ++waiting[to];
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
  for (uint32_t item = 0; item < n; ++item) {
    if (waiting[item] == 0) ready.push(item);
  }
  uint32_t next = 0;
  Quotient out;
  while (!ready.empty()) {
    uint32_t item = ready.top();
    ready.pop();
    number[item] = next++;
    out.region.push_back(region_[item]);
    for (uint32_t k = out_first_[item]; k < out_first_[item + 1]; ++k) {
      if (--waiting[out_[k]] == 0) ready.push(out_[k]);
    }
  }
  if (next != n) return cycle_error(waiting);
  out.item_of.assign(function_.nodes.size(), kNoItem);
  out.first_member.assign(n + 1, 0);
  for (uint32_t node = 0; node < function_.nodes.size(); ++node) {
    if (item_of_[node] == kNoItem) continue;
    out.item_of[node] = number[item_of_[node]];
    ++out.first_member[out.item_of[node] + 1];
  }
  std::partial_sum(out.first_member.begin(), out.first_member.end(), out.first_member.begin());
  out.member.resize(out.first_member.back());
  std::vector<uint32_t> fill(out.first_member.begin(), out.first_member.end() - 1);
  for (uint32_t node = 0; node < function_.nodes.size(); ++node) {
    if (out.item_of[node] != kNoItem) out.member[fill[out.item_of[node]]++] = node;
  }
  return out;
}

}  // namespace

Result<Quotient> contract_regions(const Function& function, const Annotations& annotations,
                                  bool contract_open, Symbol name) {
  return Contracter(function, annotations, contract_open, name).run();
}

}  // namespace byoc
