// SPDX-License-Identifier: Apache-2.0
#include "forms/open.h"

#include <algorithm>
#include <map>
#include <set>

#include "byoc/ir/dim.h"

namespace byoc::fuzz {
namespace {

constexpr size_t kMostOpen = 2;

using Extents = std::map<int64_t, Dim>;  // what replaces an extent of a parameter

/// The dims of a graph, and of its twin.
struct Dims {
  Extents own, of_twin;
  size_t first_of_twin = 0;  // leaf
};

// Returns the graph with other dims of its parameters. Errors: those of inference.
Result<Case> with_dims(Case graph, const Dims& dims) {
  for (size_t k = 0; k < graph.leaves.size(); ++k) {
    Leaf& leaf = graph.leaves[k];
    if (leaf.is_constant) continue;
    const Extents& extents = k < dims.first_of_twin ? dims.own : dims.of_twin;
    TensorType type = *leaf.type;
    for (Dim& dim : type.shape) {
      auto found = extents.find(dim.extent());
      if (found != extents.end()) dim = found->second;
    }
    leaf.type = type;
  }
  return with_types(std::move(graph));
}

// Returns the graph beside itself on parameters of its own. Constants are shared, so that plugins
// see the same computation twice, of other sizes.
Case with_twin(const Case& graph) {
  Case out = graph;
  std::vector<uint32_t> leaves;
  for (uint32_t k = 0; k < graph.leaves.size(); ++k) {
    leaves.push_back(graph.leaves[k].is_constant ? k : static_cast<uint32_t>(out.leaves.size()));
    if (graph.leaves[k].is_constant) continue;
    out.leaves.push_back(graph.leaves[k]);
    out.leaves.back().name += "_twin";
  }
  const auto first = static_cast<uint32_t>(graph.steps.size());
  auto moved = [&](Ref ref) {
    ref.index = ref.is_leaf ? leaves[ref.index] : ref.index + first;
    return ref;
  };
  for (const Step& step : graph.steps) {
    Step& twin = out.steps.emplace_back(step);
    for (Ref& arg : twin.args) arg = moved(arg);
  }
  for (Ref result : graph.results) out.results.push_back(moved(result));
  return out;
}

// Repeats the elements of `data` for as many as `type` has.
Bytes repeated(const Buffer& data, TypeId from, TypeId to) {
  const std::vector<double> have = elements(from, data);
  std::vector<double> out;
  for (int64_t k = 0; k < element_count(to) && !have.empty(); ++k)
    out.push_back(have[static_cast<size_t>(k) % have.size()]);
  return from_elements(to, out);
}

// Returns the graph at these sizes; nullopt where it has no types there.
std::optional<Case> at(const Case& graph, const Dims& dims) {
  Result<Case> out = with_dims(graph, dims);
  if (!out.ok()) return std::nullopt;
  for (size_t k = 0; k < graph.leaves.size(); ++k) {
    const Leaf& before = graph.leaves[k];
    if (before.type == out->leaves[k].type) continue;
    out->leaves[k].data = repeated(*before.data, before.type, out->leaves[k].type);
  }
  return *std::move(out);
}

// Returns lower bounds to try for an extent: images have room for the windows over them.
std::vector<int64_t> least_sizes(int64_t value) {
  std::vector<int64_t> out = {1};
  for (int64_t least : {std::min<int64_t>(value, 3), (value + 1) / 2, value - 1, value}) {
    if (least > out.back()) out.push_back(least);
  }
  return out;
}

// Returns the graph, and the graph at the ends of the bounds and between them.
std::vector<Case> graphs_at(const Case& graph, const Dims& open) {
  std::vector<Case> out{graph};
  for (size_t turn = 0; turn < 3; ++turn) {
    Dims sizes{.first_of_twin = open.first_of_twin};
    for (const auto& [value, dim] : open.own) {
      auto size = [&](size_t way) {
        return Dim(way == 0 ? dim.max() : way == 1 ? dim.min() : std::max(dim.min(), value - 1));
      };
      const size_t way = sizes.own.size() + turn;
      sizes.own.emplace(value, size(way % 3));
      sizes.of_twin.emplace(value, size((way + 1) % 3));
    }
    if (auto other = at(graph, sizes)) out.push_back(*std::move(other));
  }
  return out;
}

}  // namespace

std::optional<Opened> with_open_sizes(const Case& single) {
  std::set<int64_t, std::greater<>> values;
  for (const Leaf& leaf : single.leaves) {
    for (Dim dim : leaf.is_constant ? Shape() : leaf.type->shape) {
      if (dim.extent() > 1) values.insert(dim.extent());
    }
  }
  const Case graph = with_twin(single);
  Dims open{.first_of_twin = single.leaves.size()};
  std::optional<Case> opened;
  for (int64_t value : values) {
    if (open.own.size() == kMostOpen) break;
    for (int64_t least : least_sizes(value)) {
      Dims more = open;
      const size_t k = open.own.size();
      more.own.emplace(value, Dim::symbol(cat("s", k), least, 2 * value + 1));
      more.of_twin.emplace(value, Dim::symbol(cat("t", k), least, 2 * value + 1));
      Result<Case> out = with_dims(graph, more);
      if (!out.ok()) continue;
      open = std::move(more);
      opened = *std::move(out);
      break;
    }
  }
  if (!opened) return std::nullopt;
  return Opened{to_module(*opened), graphs_at(graph, open)};
}

}  // namespace byoc::fuzz
