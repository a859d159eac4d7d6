// SPDX-License-Identifier: Apache-2.0
#include "core/import/onnx/file/graph_check.h"

#include <algorithm>
#include <queue>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "byoc/base/check.h"
#include "core/import/onnx/file/outer_names.h"
#include "core/import/onnx/file/protobuf_text.h"

namespace byoc::onnx_import {
namespace {

constexpr int kOutside = -1;  // defined by an input or an initializer
using Definitions = std::unordered_map<std::string_view, int>;  // value -> node

Status bad_graph(std::string message) {
  return invalid(std::move(message)).with_slug("onnx-graph");
}

Status add_outside(const onnx::GraphProto& graph, Definitions& defined) {
  for (const auto& input : graph.input()) {
    if (input.name().empty()) return bad_graph("a graph input has no name");
    if (!defined.emplace(input.name(), kOutside).second) {
      return bad_graph(cat("the graph has two inputs named ", in_quotes(input.name())));
    }
  }
  std::unordered_set<std::string_view> initializers;  // one may give an input its default value
  for (const auto& tensor : graph.initializer()) {
    if (!initializers.insert(tensor.name()).second) {
      return bad_graph(cat("the graph has two initializers named ", in_quotes(tensor.name())));
    }
    defined.emplace(tensor.name(), kOutside);
  }
  return {};
}

Status add_node_outputs(const onnx::GraphProto& graph, Definitions& defined) {
  for (int k = 0; k < graph.node_size(); ++k) {
    for (const std::string& output : graph.node(k).output()) {
      if (output.empty()) continue;
      auto [found, fresh] = defined.emplace(output, k);
      if (fresh) continue;
      std::string first = found->second == kOutside
                              ? "an input or initializer of the graph"
                              : cat("node ", node_label(graph.node(found->second)));
      return bad_graph(cat("the value ", in_quotes(output), " is defined twice: by ", first,
                           " and by node ", node_label(graph.node(k))));
    }
  }
  return {};
}

/// Returns for each node the nodes whose values it reads.
std::vector<std::vector<int>> predecessors(const onnx::GraphProto& graph,
                                           const Definitions& defined) {
  std::vector<std::vector<int>> before(static_cast<size_t>(graph.node_size()));
  for (int k = 0; k < graph.node_size(); ++k) {
    for_reads(graph.node(k), [&](const std::string& name) {
      auto found = defined.find(name);
      if (found != defined.end() && found->second != kOutside) before[k].push_back(found->second);
    });
  }
  return before;
}

/// Returns the nodes in an order in which each one follows those it reads, and as near to the given
/// order as that allows. Nodes on a cycle, and after one, are missing. Cost: O(n log n).
std::vector<int> sorted_nodes(const std::vector<std::vector<int>>& before) {
  std::vector<std::vector<int>> after(before.size());
  std::vector<size_t> waiting(before.size());
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (size_t k = 0; k < before.size(); ++k) {
    waiting[k] = before[k].size();
    for (int p : before[k]) after[p].push_back(static_cast<int>(k));
    if (waiting[k] == 0) ready.push(static_cast<int>(k));
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int node = ready.top();
    ready.pop();
    order.push_back(node);
    for (int next : after[node]) {
      if (--waiting[next] == 0) ready.push(next);
    }
  }
  return order;
}

/// Follows operands backwards from a node that cannot run until a node comes up again.
std::vector<int> find_cycle(const std::vector<std::vector<int>>& before,
                            const std::vector<bool>& runs) {
  int node = static_cast<int>(std::find(runs.begin(), runs.end(), false) - runs.begin());
  std::unordered_map<int, size_t> seen;
  std::vector<int> path;
  while (seen.emplace(node, path.size()).second) {
    path.push_back(node);
    auto waits_for =
        std::find_if(before[node].begin(), before[node].end(), [&](int p) { return !runs[p]; });
    BYOC_CHECK(waits_for != before[node].end(), "node ", node, " waits for no other node");
    node = *waits_for;
  }
  path.erase(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(seen[node]));
  std::reverse(path.begin(), path.end());  // in the order values flow
  std::rotate(path.begin(), std::min_element(path.begin(), path.end()), path.end());
  return path;
}

Status cycle_error(const onnx::GraphProto& graph, const std::vector<int>& cycle) {
  constexpr size_t kShown = 8;
  std::string text;
  for (size_t k = 0; k < cycle.size() && k < kShown; ++k) {
    text += cat(node_label(graph.node(cycle[k])), " -> ");
  }
  if (cycle.size() > kShown) text += cat("... ", cycle.size() - kShown, " more -> ");
  return bad_graph(cat("the graph has a cycle: ", text, node_label(graph.node(cycle.front()))));
}

/// Brings the nodes into an order, cycle by cycle of the permutation. Nodes keep their addresses.
void reorder(onnx::GraphProto& graph, std::vector<int> order) {
  for (int first = 0; first < graph.node_size(); ++first) {
    int at = first;
    while (order[at] != first) {
      graph.mutable_node()->SwapElements(at, order[at]);
      at = std::exchange(order[at], at);
    }
    order[at] = at;
  }
}

/// Sorts the nodes. Errors: a cycle.
Status sort_nodes(onnx::GraphProto& graph, const Definitions& defined) {
  const auto before = predecessors(graph, defined);
  std::vector<int> order = sorted_nodes(before);
  if (order.size() < before.size()) {
    std::vector<bool> runs(before.size());
    for (int node : order) runs[node] = true;
    return cycle_error(graph, find_cycle(before, runs));
  }
  reorder(graph, std::move(order));
  return {};
}

using IsOuter = std::function<bool(const std::string&)>;

/// Returns what the first node that is in the wrong place reads, as text; "" when there is none.
Result<std::string> check_reads(const onnx::GraphProto& graph, const Definitions& defined,
                                const IsOuter& is_outer) {
  std::string misplaced;
  for (int k = 0; k < graph.node_size(); ++k) {
    const onnx::NodeProto& node = graph.node(k);
    for (const std::string& input : node.input()) {
      if (input.empty() || defined.contains(input) || is_outer(input)) continue;
      return bad_graph(cat("node ", node_label(node), " reads ", in_quotes(input),
                           ", which no node, input or initializer defines"));
    }
    for_reads(node, [&](const std::string& name) {
      auto found = defined.find(name);
      if (found == defined.end() || found->second < k || !misplaced.empty()) return;
      misplaced = cat(node_label(node), " reads ", in_quotes(name), ", which ",
                      node_label(graph.node(found->second)), " computes later");
    });
  }
  return misplaced;
}

Status check_outputs(const onnx::GraphProto& graph, const Definitions& defined,
                     const IsOuter& is_outer) {
  std::unordered_set<std::string_view> seen;
  for (const auto& output : graph.output()) {
    if (!defined.count(output.name()) && !is_outer(output.name())) {
      return bad_graph(cat("the graph output ", in_quotes(output.name()),
                           " is defined by no node, input or initializer"));
    }
    if (!seen.insert(output.name()).second) {
      return bad_graph(cat("the graph has two outputs named ", in_quotes(output.name())));
    }
  }
  return {};
}

}  // namespace

std::string node_label(const onnx::NodeProto& node) {
  if (!node.name().empty()) return in_quotes(node.name());
  for (const std::string& output : node.output()) {
    if (!output.empty()) return in_quotes(output);
  }
  return in_quotes(node.op_type());
}

Result<std::string> check_graph(onnx::GraphProto& graph) {
  BYOC_TRY(std::string warning, check_graph(graph, [](const std::string&) { return false; }));
  if (graph.output_size() == 0) return bad_graph("the graph has no outputs");
  return warning;
}

Result<std::string> check_graph(onnx::GraphProto& graph, const IsOuter& is_outer) {
  Definitions defined;
  BYOC_TRY_STATUS(add_outside(graph, defined));
  BYOC_TRY_STATUS(add_node_outputs(graph, defined));
  BYOC_TRY(const std::string misplaced, check_reads(graph, defined, is_outer));
  BYOC_TRY_STATUS(check_outputs(graph, defined, is_outer));
  if (misplaced.empty()) return std::string();
  BYOC_TRY_STATUS(sort_nodes(graph, defined));
  return cat("the nodes of graph ", in_quotes(graph.name()),
             " are not in order, as ONNX requires: ", misplaced, "; they are sorted");
}

}  // namespace byoc::onnx_import
