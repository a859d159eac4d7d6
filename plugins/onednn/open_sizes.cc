// SPDX-License-Identifier: Apache-2.0
#include "open_sizes.h"

#include <algorithm>
#include <set>

#include "primitives/primitives.h"

namespace byoc::onednn {
namespace {

constexpr int64_t kUsual = 128;  // of a size that may be as large
constexpr int64_t kLanes = 16;   // usual numbers are multiples
constexpr int64_t kImages = 4;
constexpr int64_t kMost = int64_t{1} << 31;
constexpr size_t kMostMixed = 3;        // sizes of which each mixture of least and most is tried
constexpr int64_t kMostChecked = 1024;  // sizes that are checked one by one

bool is_of_images(const Node& node) {
  return node.op.starts_with("conv") || node.op == "max_pool" || node.op == "average_pool" ||
         node.op.starts_with("global_");
}

/// The sizes that are the number of images, and those that are other extents.
struct Uses {
  std::set<std::string> images, others;
  void add(const Type& type, bool is_image) {
    for (const sdk::SymbolicDim& dim : type.symbols) {
      if (dim.axis > 0) others.insert(dim.name);
      else if (is_image) images.insert(dim.name);
    }
  }
  void add(const Graph& graph, const sdk::Body& body) {
    for (const sdk::Input& input : body.inputs) add(graph.types[input.type], false);
    for (const Node& node : body.nodes) {
      for (size_t k = 0; k < node.types.size(); ++k) add(graph.type(node, k), is_of_images(node));
    }
  }
};

int64_t nominal_of(const sdk::SizeRange& size, const Uses& uses) {
  if (uses.images.contains(size.name) && !uses.others.contains(size.name))
    return std::clamp(kImages, size.min, size.max);
  const int64_t most = std::min(size.max, kUsual), whole = most / kLanes * kLanes;
  return std::max(size.min, whole > 0 ? whole : most);
}

bool has_open_cells(const Type& type) {
  return std::any_of(type.symbols.begin(), type.symbols.end(),
                     [](const sdk::SymbolicDim& dim) { return dim.axis > 1; });
}

// Returns whether an extent of images may depend on the size.
bool is_in_cells(const Graph& graph, const sdk::SizeRange& size) {
  return std::any_of(graph.types.begin(), graph.types.end(), [&](const Type& type) {
    return std::any_of(type.symbols.begin(), type.symbols.end(), [&](const sdk::SymbolicDim& dim) {
      return dim.axis > 1 &&
             (dim.expression ? dim.name.find(size.name) != dim.name.npos : dim.name == size.name);
    });
  });
}

void check_resize_at(const Graph& graph, const Sizes& sizes) {
  const Graph now = sdk::at_sizes(graph, sizes);
  try {
    const Region region = read_region(now, {});
    for (const Unit& unit : region.units) check_resize(region, unit);
  } catch (const Refusal& refusal) {
    throw Refusal{refusal.reason + " at " + sizes_text(graph, sizes)};
  }
}

// Compares the cells at each size of the images.
void check_resize_open(const Graph& graph) {
  Sizes sizes, last;
  int64_t count = 1;
  for (const sdk::SizeRange& size : graph.size_ranges) {
    sizes.push_back(size.min);
    last.push_back(is_in_cells(graph, size) ? size.max : size.min);
    if (!__builtin_mul_overflow(count, last.back() - size.min + 1, &count) && count <= kMostChecked)
      continue;
    throw Refusal{"the cells of a resize are compared with oneDNN's for at most " +
                  std::to_string(kMostChecked) + " sizes"};
  }
  for (; count > 0; --count) {
    check_resize_at(graph, sizes);
    for (size_t k = 0; k < sizes.size() && ++sizes[k] > last[k]; ++k)
      sizes[k] = graph.size_ranges[k].min;
  }
}

// Halves the largest numbers until all tensors are countable. Runs of more are errors.
Sizes countable(const Graph& graph, Sizes sizes) {
  auto fits = [&] { return std::ranges::all_of(sdk::at_sizes(graph, sizes).types, is_countable); };
  while (!fits()) {
    const auto largest = std::max_element(sizes.begin(), sizes.end());
    const auto k = static_cast<size_t>(largest - sizes.begin());
    const int64_t half = std::max(graph.size_ranges[k].min, *largest / 2);
    if (half == *largest) break;  // the region is then refused
    *largest = half;
  }
  return sizes;
}

}  // namespace

Sizes nominal_sizes(const Graph& graph) {
  Uses uses;
  uses.add(graph, graph);
  for (const sdk::Body& body : graph.functions) uses.add(graph, body);
  Sizes out;
  for (const sdk::SizeRange& size : graph.size_ranges) out.push_back(nominal_of(size, uses));
  return out;
}

std::vector<Sizes> sizes_to_try(const Graph& graph) {
  for (const sdk::SizeRange& size : graph.size_ranges) {
    if (size.max <= kMost) continue;
    throw Refusal{"the size " + size.name + " has no upper bound: give it one, as in --shape " +
                  size.name + "=1..64"};
  }
  std::vector<Sizes> out = {nominal_sizes(graph)};
  auto add = [&](auto&& is_least) {
    Sizes sizes;
    for (size_t k = 0; k < graph.size_ranges.size(); ++k)
      sizes.push_back(is_least(k) ? graph.size_ranges[k].min : graph.size_ranges[k].max);
    sizes = countable(graph, std::move(sizes));
    if (std::find(out.begin(), out.end(), sizes) == out.end()) out.push_back(std::move(sizes));
  };
  add([](size_t) { return false; });
  add([](size_t) { return true; });
  const size_t n = graph.size_ranges.size();
  for (size_t mixture = 1; n <= kMostMixed && mixture + 1 < size_t{1} << n; ++mixture)
    add([&](size_t k) { return (mixture >> k & 1) != 0; });
  for (size_t one = 0; n > kMostMixed && one < n; ++one) {
    add([&](size_t k) { return k == one; });
    add([&](size_t k) { return k != one; });
  }
  return out;
}

void check_open_ops(const Graph& candidate) {
  auto check = [&](const sdk::Body& body) {
    for (const Node& node : body.nodes) {
      const bool is_open_image =
          has_open_cells(candidate.type(node)) ||
          (!node.args.empty() && has_open_cells(candidate.type(body, node.args[0])));
      if (!is_open_image) continue;
      if (node.op == "resize") check_resize_open(candidate);
      if (node.op == "average_pool" && node.attrs.b("ceil_mode", false) &&
          node.attrs.b("count_include_pad", false))
        throw Refusal{
            "ceil_mode with count_include_pad counts cells that oneDNN does not, at some "
            "of the open sizes"};
    }
  };
  check(candidate);
  for (const sdk::Body& body : candidate.functions) check(body);
}

std::string sizes_text(const Graph& graph, const Sizes& sizes) {
  std::string out;
  for (size_t k = 0; k < sizes.size(); ++k)
    out += (k > 0 ? ", " : "") + graph.size_ranges[k].name + "=" + std::to_string(sizes[k]);
  return out;
}

}  // namespace byoc::onednn
