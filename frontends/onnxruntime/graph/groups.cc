// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnxruntime/graph/groups.h"

#include <algorithm>
#include <map>

namespace byoc::ort {
namespace {

/// Returns the node that makes each value, or -1.
std::vector<int64_t> producers(const Graph& graph) {
  std::vector<int64_t> out(graph.values.size(), -1);
  for (size_t k = 0; k < graph.nodes.size(); ++k) {
    for (int32_t value : graph.nodes[k].outputs) {
      if (value != Node::kNone) out[static_cast<size_t>(value)] = static_cast<int64_t>(k);
    }
  }
  return out;
}

std::vector<uint32_t> levels_of(const Graph& graph, const std::vector<bool>& taken,
                                const std::vector<int64_t>& producer) {
  std::vector<uint32_t> level(graph.nodes.size(), 0);
  for (size_t k = 0; k < graph.nodes.size(); ++k) {
    const Node& node = graph.nodes[k];
    uint32_t most = taken[k] ? 0 : 1;
    for (const auto* operands : {&node.inputs, &node.implicit_inputs}) {
      for (int32_t value : *operands) {
        const int64_t from = value == Node::kNone ? -1 : producer[static_cast<size_t>(value)];
        if (from < 0) continue;
        const auto before = static_cast<size_t>(from);
        most = std::max(most, level[before] + (taken[before] != taken[k] ? 1u : 0u));
      }
    }
    level[k] = most;
  }
  return level;
}

/// Marks the values that the graph returns, or that nodes of other groups than their own read.
std::vector<bool> values_that_leave(const Graph& graph, const std::vector<int64_t>& producer,
                                    const std::vector<int64_t>& group_of) {
  std::vector<bool> out(graph.values.size());
  for (size_t k = 0; k < out.size(); ++k) out[k] = graph.values[k].is_output;
  for (size_t k = 0; k < graph.nodes.size(); ++k) {
    const Node& node = graph.nodes[k];
    for (const auto* operands : {&node.inputs, &node.implicit_inputs}) {
      for (int32_t value : *operands) {
        const int64_t from = value == Node::kNone ? -1 : producer[static_cast<size_t>(value)];
        if (from >= 0 && group_of[static_cast<size_t>(from)] != group_of[k])
          out[static_cast<size_t>(value)] = true;
      }
    }
  }
  return out;
}

void add_borders(const Graph& graph, const std::vector<bool>& leaves, Group& group) {
  std::vector<int32_t> made;
  for (uint32_t k : group.nodes) {
    for (int32_t value : graph.nodes[k].outputs) {
      if (value == Node::kNone) continue;
      made.push_back(value);
      if (leaves[static_cast<size_t>(value)]) group.outputs.push_back(value);
    }
  }
  std::sort(made.begin(), made.end());
  std::vector<int32_t> read;
  for (uint32_t k : group.nodes) {
    for (const auto* operands : {&graph.nodes[k].inputs, &graph.nodes[k].implicit_inputs}) {
      for (int32_t value : *operands) {
        const bool is_input = value != Node::kNone &&
                              !graph.values[static_cast<size_t>(value)].is_constant &&
                              !std::binary_search(made.begin(), made.end(), value);
        if (is_input) read.push_back(value);
      }
    }
  }
  std::sort(read.begin(), read.end());
  read.erase(std::unique(read.begin(), read.end()), read.end());
  group.inputs = std::move(read);
}

}  // namespace

std::vector<Group> group_nodes(const Graph& graph, const std::vector<bool>& taken) {
  const std::vector<int64_t> producer = producers(graph);
  const std::vector<uint32_t> level = levels_of(graph, taken, producer);
  std::map<uint32_t, Group> by_level;
  std::vector<int64_t> group_of(graph.nodes.size(), -1);
  for (size_t k = 0; k < graph.nodes.size(); ++k) {
    if (!taken[k]) continue;
    by_level[level[k]].nodes.push_back(static_cast<uint32_t>(k));
    group_of[k] = level[k];
  }
  const std::vector<bool> leaves = values_that_leave(graph, producer, group_of);
  std::vector<Group> out;
  for (auto& [ignored, group] : by_level) {
    add_borders(graph, leaves, group);
    out.push_back(std::move(group));
  }
  return out;
}

}  // namespace byoc::ort
