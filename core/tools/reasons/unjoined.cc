// SPDX-License-Identifier: Apache-2.0
#include "core/tools/reasons/unjoined.h"

#include <algorithm>
#include <map>
#include <set>

#include "byoc/ir/visit.h"
#include "core/region/judge.h"

namespace byoc::driver {
namespace {

constexpr uint32_t kNone = UINT32_MAX;
constexpr size_t kMostVisits = 4096;  // of a search for a second path

/// The regions of one plugin in one function, in order.
class PairFinder {
 public:
  PairFinder(const IRModule& module, const Function& function, Symbol id, const Plugin* plugin,
             int level)
      : module_(module), function_(function), id_(id), plugin_(plugin), level_(level) {}

  void find(std::vector<UnjoinedPair>& out) {
    size_t n = function_.nodes.size();
    before_.assign(n, kNone);
    via_.assign(n, kNone);
    std::set<std::pair<uint32_t, uint32_t>> pairs;
    uint32_t last = kNone;
    for (uint32_t node = 0; node < n; ++node) {
      follow(node);
      if (!is_region(node)) continue;
      for (ValueId arg : function_.args(function_.nodes[node]))
        if (is_region(arg.node)) pairs.emplace(node, arg.node);
      uint32_t near = before_[node] != kNone ? before_[node] : last;
      if (near != kNone) pairs.emplace(node, near);
      last = node;
    }
    for (const auto& [second, first] : pairs) {
      if (out.size() == kMostPairs) return;
      out.push_back(reason(first, second));
    }
  }

 private:
  const Function* callee(uint32_t node) const {
    auto* invoke = std::get_if<Invoke>(&function_.nodes[node].kind);
    return invoke ? module_.find(invoke->function) : nullptr;
  }
  bool is_region(uint32_t node) const {
    const Function* body = callee(node);
    return body != nullptr && body->attrs.has("compiler") && Symbol(body->attr("compiler")) == id_;
  }
  // Sets the nearest region before the node that a value comes from, and the operand on the way.
  void follow(uint32_t node) {
    for (ValueId arg : function_.args(function_.nodes[node])) {
      uint32_t region = is_region(arg.node) ? arg.node : before_[arg.node];
      if (region == kNone || (before_[node] != kNone && before_[node] >= region)) continue;
      before_[node] = region;
      via_[node] = arg.node;
    }
  }
  UnjoinedPair reason(uint32_t first, uint32_t second) const;
  void add_ops(uint32_t node, UnjoinedPair& pair) const;
  bool find_way_around(uint32_t first, uint32_t second, UnjoinedPair& pair) const;
  bool is_over_limit(uint32_t first, uint32_t second, UnjoinedPair& pair) const;

  const IRModule& module_;
  const Function& function_;
  Symbol id_;
  const Plugin* plugin_;
  int level_;
  std::vector<uint32_t> before_, via_;  // per node
};

/// Adds the locs of the ops that a node between two regions runs.
void PairFinder::add_ops(uint32_t node, UnjoinedPair& pair) const {
  std::vector<Symbol> locs = op_locs(module_, function_.nodes[node]);
  if (locs.empty()) locs.push_back(op_label(module_, function_.nodes[node]));
  for (Symbol loc : locs) {
    if (pair.through.size() < UnjoinedPair::kMostOps && !loc.empty()) pair.through.push_back(loc);
  }
}

/// Searches back from `second` for a path from `first` that has other nodes between.
bool PairFinder::find_way_around(uint32_t first, uint32_t second, UnjoinedPair& pair) const {
  std::map<uint32_t, uint32_t> reader;  // by node that was visited
  std::vector<uint32_t> stack = {second};
  while (!stack.empty() && reader.size() < kMostVisits) {
    uint32_t node = stack.back();
    stack.pop_back();
    for (ValueId arg : function_.args(function_.nodes[node])) {
      if (arg.node == first && node != second) {
        for (uint32_t at = node; at != second; at = reader.at(at)) add_ops(at, pair);
        return true;
      }
      if (arg.node <= first || !reader.emplace(arg.node, node).second) continue;
      stack.push_back(arg.node);
    }
  }
  return false;
}

bool PairFinder::is_over_limit(uint32_t first, uint32_t second, UnjoinedPair& pair) const {
  if (plugin_ == nullptr) return false;
  uint64_t ops = 0, bytes = 0;
  for (uint32_t region : {first, second}) {
    const Function& body = *callee(region);
    for (uint32_t node = 0; node < body.nodes.size(); ++node) {
      const auto& kind = body.nodes[node].kind;
      if (!std::holds_alternative<Call>(kind) && !std::holds_alternative<Invoke>(kind)) continue;
      ops += op_count(module_, body.nodes[node]);
      bytes += byte_count(body, node);
    }
  }
  const uint64_t most_bytes = plugin_->max_bytes() > 0 ? plugin_->max_bytes() : UINT64_MAX;
  if (ops <= plugin_->max_ops() && bytes <= most_bytes) return false;
  const bool is_ops = ops > plugin_->max_ops();
  pair.why = is_ops ? UnjoinedPair::kOps : UnjoinedPair::kBytes;
  pair.has = is_ops ? ops : bytes;
  pair.limit = is_ops ? plugin_->max_ops() : most_bytes;
  return true;
}

UnjoinedPair PairFinder::reason(uint32_t first, uint32_t second) const {
  UnjoinedPair pair{UnjoinedPair::kSearch, id_,
                    std::get<Invoke>(function_.nodes[first].kind).function,
                    std::get<Invoke>(function_.nodes[second].kind).function};
  auto args = function_.args(function_.nodes[second]);
  const bool is_direct =
      std::any_of(args.begin(), args.end(), [&](ValueId arg) { return arg.node == first; });
  if (!is_direct && before_[second] == first) {
    pair.why = UnjoinedPair::kBetween;
    for (uint32_t at = via_[second]; at != first; at = via_[at]) add_ops(at, pair);
    std::reverse(pair.through.begin(), pair.through.end());
    return pair;
  }
  const bool is_horizontal = plugin_ != nullptr && plugin_->is_horizontal();
  if (find_way_around(first, second, pair)) pair.why = UnjoinedPair::kAround;
  else if (level_ == 0) pair.why = UnjoinedPair::kOptimisation;
  else if (!is_direct && !is_horizontal) pair.why = UnjoinedPair::kUnconnected;
  else is_over_limit(first, second, pair);
  return pair;
}

}  // namespace

std::string_view why_text(UnjoinedPair::Why why) {
  switch (why) {
    case UnjoinedPair::kBetween:
      return "between";
    case UnjoinedPair::kAround:
      return "around";
    case UnjoinedPair::kOps:
      return "max_ops";
    case UnjoinedPair::kBytes:
      return "max_bytes";
    case UnjoinedPair::kUnconnected:
      return "unconnected";
    case UnjoinedPair::kOptimisation:
      return "level";
    case UnjoinedPair::kSearch:
      break;
  }
  return "search";
}

std::vector<UnjoinedPair> unjoined_regions(const IRModule& partitioned, const PluginSet& plugins,
                                           int level) {
  std::vector<UnjoinedPair> out;
  for (const auto& [name, function] : partitioned.functions) {
    if (function.attrs.has("compiler") || function.attrs.has("composite")) continue;
    std::map<std::string, size_t> regions;  // by plugin
    for (const Node& node : function.nodes) {
      auto* invoke = std::get_if<Invoke>(&node.kind);
      const Function* body = invoke ? partitioned.find(invoke->function) : nullptr;
      if (body != nullptr && body->attrs.has("compiler")) ++regions[body->attr("compiler")];
    }
    for (const auto& [id, count] : regions) {
      if (count < 2) continue;
      PairFinder(partitioned, function, id, plugins.find(id), level).find(out);
    }
  }
  return out;
}

}  // namespace byoc::driver
