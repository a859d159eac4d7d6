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

// Returns the graph with other dims of its parameters. Errors: those of inference.
Result<Case> with_dims(Case graph, const Extents& extents) {
  for (Leaf& leaf : graph.leaves) {
    if (leaf.is_constant) continue;
    TensorType type = *leaf.type;
    for (Dim& dim : type.shape) {
      auto found = extents.find(dim.extent());
      if (found != extents.end()) dim = found->second;
    }
    leaf.type = type;
  }
  return with_types(std::move(graph));
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
std::optional<Case> at(const Case& graph, const Extents& extents) {
  Result<Case> out = with_dims(graph, extents);
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

}  // namespace

std::optional<Opened> with_open_sizes(const Case& graph) {
  std::set<int64_t, std::greater<>> values;
  for (const Leaf& leaf : graph.leaves) {
    for (Dim dim : leaf.is_constant ? Shape() : leaf.type->shape) {
      if (dim.extent() > 1) values.insert(dim.extent());
    }
  }
  Extents open;
  std::optional<Case> opened;
  for (int64_t value : values) {
    if (open.size() == kMostOpen) break;
    for (int64_t least : least_sizes(value)) {
      Extents more = open;
      more.emplace(value, Dim::symbol(cat("s", open.size()), least, 2 * value + 1));
      Result<Case> out = with_dims(graph, more);
      if (!out.ok()) continue;
      open = std::move(more);
      opened = *std::move(out);
      break;
    }
  }
  if (!opened) return std::nullopt;
  Opened out{to_module(*opened), {graph}};
  for (int turn = 0; turn < 3; ++turn) {
    Extents sizes;
    for (const auto& [value, dim] : open) {
      const size_t way = (sizes.size() + static_cast<size_t>(turn)) % 3;
      sizes.emplace(value, Dim(way == 0   ? dim.max()
                               : way == 1 ? dim.min()
                                          : std::max(dim.min(), value - 1)));
    }
    if (auto other = at(graph, sizes)) out.graphs.push_back(*std::move(other));
  }
  return out;
}

}  // namespace byoc::fuzz
