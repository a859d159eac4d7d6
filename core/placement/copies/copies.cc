// SPDX-License-Identifier: Apache-2.0
#include "core/placement/copies/copies.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "byoc/base/check.h"

namespace byoc::placement {
namespace {

constexpr uint32_t kNone = UINT32_MAX;
constexpr double kPicoseconds = 1000;  // per ns

uint8_t bit(uint32_t place) { return static_cast<uint8_t>(1u << place); }

class Builder {
 public:
  Builder(const PlacedOps& ops, Problem& problem) : ops_(ops), problem_(problem) {
    BYOC_CHECK(ops.links.size() <= kMostDevices, ops.links.size(), " devices");
    for (uint32_t v = 0; v < problem.size(); ++v) {
      uint8_t places = 0;
      for (uint32_t k = 0; k < problem.states(v); ++k) {
        if (problem.costs(v)[k] < kForbidden) places |= bit(ops.place(v, k));
      }
      places_.push_back(places);
    }
  }

  std::vector<CopyNode> run() {
    find_readers();
    for (const auto& [value, readers] : readers_) add_value(value, readers);
    return std::move(out_);
  }

 private:
  struct Readers {
    std::set<uint32_t> ops;  // nodes of the problem
    bool has_host = false;   // also what is not placed: results, control flow
  };

  void find_readers() {
    const Function& function = ops_.function;
    for (uint32_t node = 0; node < function.nodes.size(); ++node) {
      const uint32_t v = ops_.problem_of[node];
      for (ValueId arg : function.args(function.nodes[node])) {
        if (std::holds_alternative<Constant>(function.nodes[arg.node].kind)) continue;
        if (v == kNone) readers_[arg].has_host = true;
        else readers_[arg].ops.insert(v);
      }
    }
    for (ValueId result : function.results) readers_[result].has_host = true;
  }

  void add_value(ValueId value, const Readers& readers) {
    const uint32_t maker = ops_.problem_of[value.node];
    const uint8_t homes = maker == kNone ? bit(kHostPlace) : places_[maker];
    uint8_t read_at = readers.has_host ? bit(kHostPlace) : 0;
    for (uint32_t reader : readers.ops) read_at |= places_[reader];
    if (((homes | read_at) & ~bit(kHostPlace)) == 0) return;
    const Result<int64_t> bytes = size_bytes(*ops_.function.type(value));
    if (!bytes.ok()) return;
    CopyNode node{value, static_cast<double>(*bytes), {}};
    for (uint32_t home = 0; home <= ops_.links.size(); ++home) {
      if ((homes & bit(home)) != 0) add_states(home, read_at, readers.has_host, node);
    }
    std::vector<Cost> costs;
    for (uint32_t k = 0; k < node.states.size(); ++k) costs.push_back(cost(node, k));
    const uint32_t added = problem_.add_node(costs);
    if (maker != kNone)
      add_edge(maker, added, node, [](auto state, uint32_t at) { return state.home == at; });
    for (uint32_t reader : readers.ops)
      add_edge(reader, added, node,
               [](auto state, uint32_t at) { return (state.places & bit(at)) != 0; });
    out_.push_back(std::move(node));
  }

  /// Adds the sets of places for a value that is made at `home`. A copy between two devices goes
  /// through the host.
  void add_states(uint32_t home, uint8_t read_at, bool has_host, CopyNode& node) const {
    const uint8_t others = static_cast<uint8_t>((read_at | bit(kHostPlace)) & ~bit(home));
    for (uint8_t copied = others;; copied = static_cast<uint8_t>((copied - 1) & others)) {
      const auto places = static_cast<uint8_t>(copied | bit(home));
      const bool is_on_host = (places & bit(kHostPlace)) != 0;
      const bool goes_on = (copied & ~bit(kHostPlace)) != 0;
      if (is_on_host || (!has_host && !goes_on))
        node.states.push_back({static_cast<uint8_t>(home), places});
      if (copied == 0) return;
    }
  }

  Cost cost(const CopyNode& node, uint32_t state) const {
    double ns = 0;
    for (const CopiedValue& copy : copies_of(node, state, ops_.links)) ns += copy.ns;
    return static_cast<Cost>(std::min(ns * kPicoseconds, static_cast<double>(kMostCost)));
  }

  template <class F>
  void add_edge(uint32_t op, uint32_t added, const CopyNode& node, F&& allows) {
    std::vector<Cost> entries;
    for (uint32_t k = 0; k < problem_.states(op); ++k) {
      for (CopyNode::State state : node.states)
        entries.push_back(allows(state, ops_.place(op, k)) ? 0 : kForbidden);
    }
    auto [at, is_new] = matrices_.try_emplace(entries);
    if (is_new) at->second = problem_.add_matrix(entries);
    problem_.add_edge(op, added, at->second);
  }

  const PlacedOps& ops_;
  Problem& problem_;
  std::vector<uint8_t> places_;  // that a node of the problem may be at
  std::map<ValueId, Readers> readers_;
  std::map<std::vector<Cost>, uint64_t> matrices_;
  std::vector<CopyNode> out_;
};

}  // namespace

std::vector<CopyNode> add_copies(const PlacedOps& ops, Problem& problem) {
  if (ops.links.empty()) return {};
  return Builder(ops, problem).run();
}

std::vector<CopiedValue> copies_of(const CopyNode& node, uint32_t state,
                                   std::span<const Link> links) {
  std::vector<CopiedValue> out;
  const auto [home, places] = node.states[state];
  if (home != kHostPlace && (places & bit(kHostPlace)) != 0)
    out.push_back({node.value, home, false, node.bytes, links[home - 1].out.ns(node.bytes)});
  for (uint32_t device = 1; device <= links.size(); ++device) {
    if (device != home && (places & bit(device)) != 0)
      out.push_back({node.value, device, true, node.bytes, links[device - 1].in.ns(node.bytes)});
  }
  return out;
}

}  // namespace byoc::placement
