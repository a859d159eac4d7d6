// SPDX-License-Identifier: Apache-2.0
#include "core/partition/convex/waves.h"

#include <algorithm>
#include <utility>

#include "byoc/base/check.h"

namespace byoc {
namespace {

// Forms the groups of one backend. The regions of earlier backends are already contracted.
class Waves {
 public:
  Waves(const RegionGraph& graph, const Successors& out, const RegionOptions& options,
        NodeSets& regions)
      : graph_(graph),
        out_(out),
        options_(options),
        regions_(regions),
        waiting_(graph.size()),
        group_(graph.size()),
        reads_from_(graph.size()) {}
  void take(uint32_t color);

 private:
  bool is_supported(uint32_t v) const {
    return graph_.color[v] == color_ && !graph_.alone[v] && options_.colors[color_].joins;
  }
  bool has_anything_to_join() const;
  void count_waiting();
  void visit_all();
  void visit(uint32_t region);
  void join_groups();

  const RegionGraph& graph_;
  const Successors& out_;
  const RegionOptions& options_;
  NodeSets& regions_;
  uint32_t color_ = 0, open_ = 0;     // the current backend; its open group, from 1
  std::vector<uint32_t> waiting_;     // per region: edges from unvisited regions
  std::vector<uint32_t> group_;       // per node: 0 is none
  std::vector<uint32_t> reads_from_;  // per region: the last group it reads from
  std::vector<uint32_t> ready_, ready_next_;
};

bool Waves::has_anything_to_join() const {
  if (!options_.colors[color_].joins) return false;
  uint32_t seen = 0;
  for (uint32_t v = 0; v < graph_.size(); ++v) {
    if (!is_supported(v)) continue;
    if (options_.colors[color_].horizontal && ++seen > 1) return true;
    for (uint32_t e = graph_.first[v]; e < graph_.first[v + 1]; ++e) {
      if (is_supported(graph_.source[e])) return true;
    }
  }
  return false;
}

void Waves::count_waiting() {
  std::fill(waiting_.begin(), waiting_.end(), 0);
  for (uint32_t v = 0; v < graph_.size(); ++v) {
    uint32_t region = regions_.find(v);
    for (uint32_t e = graph_.first[v]; e < graph_.first[v + 1]; ++e)
      waiting_[region] += regions_.find(graph_.source[e]) != region;
  }
}

void Waves::visit(uint32_t region) {
  bool is_taken = is_supported(region);  // nodes of this color are still single
  if (is_taken) group_[region] = open_;
  for (uint32_t member : regions_.members(region)) {
    for (uint32_t k = out_.first[member]; k < out_.first[member + 1]; ++k) {
      uint32_t next = regions_.find(out_.target[k]);
      if (next == region) continue;
      if (is_taken) reads_from_[next] = open_;
      BYOC_CHECK(waiting_[next] > 0, "region ", next, " waits for no region");
      if (--waiting_[next] == 0) ready_.push_back(next);
    }
  }
}

void Waves::visit_all() {
  ready_.clear();
  for (uint32_t v = 0; v < graph_.size(); ++v) {
    if (regions_.find(v) == v && waiting_[v] == 0) ready_.push_back(v);
  }
  for (open_ = 1; !ready_.empty(); ++open_) {
    ready_next_.clear();
    for (size_t k = 0; k < ready_.size(); ++k) {  // grows at its end: visited in order of arrival
      uint32_t region = ready_[k];
      bool waits = !is_supported(region) && reads_from_[region] == open_;
      if (waits) ready_next_.push_back(region);
      else visit(region);
    }
    std::swap(ready_, ready_next_);
  }
}

void Waves::join_groups() {
  bool horizontal = options_.colors[color_].horizontal;
  std::vector<uint32_t> first(horizontal ? open_ : 0, UINT32_MAX);
  for (uint32_t v = 0; v < graph_.size(); ++v) {
    if (!is_supported(v)) continue;
    for (uint32_t e = graph_.first[v]; e < graph_.first[v + 1]; ++e) {
      uint32_t u = graph_.source[e];
      if (is_supported(u) && group_[u] == group_[v]) regions_.join(u, v);
    }
    if (!horizontal) continue;
    uint32_t& head = first[group_[v]];
    if (head == UINT32_MAX) head = v;
    regions_.join(head, v);
  }
}

void Waves::take(uint32_t color) {
  color_ = color;
  if (!has_anything_to_join()) return;
  std::fill(reads_from_.begin(), reads_from_.end(), 0);
  count_waiting();
  visit_all();
  join_groups();
}

}  // namespace

void join_waves(const RegionGraph& graph, const Successors& out, const RegionOptions& options,
                NodeSets& regions) {
  Waves waves(graph, out, options, regions);
  for (uint32_t color = 0; color < options.colors.size(); ++color) waves.take(color);
}

std::vector<uint32_t> find_wave_regions(const RegionGraph& graph, const RegionOptions& options) {
  Successors out(graph);
  NodeSets regions(graph.size());
  join_waves(graph, out, options, regions);
  return number_regions(graph, options, order_by_region(graph, out, regions), regions);
}

std::vector<uint32_t> find_whole_waves(const RegionGraph& graph, const RegionOptions& options) {
  RegionOptions horizontal = options;
  for (ColorLimits& limits : horizontal.colors) limits.horizontal = true;
  return find_wave_regions(graph, horizontal);
}

PartitionSize measure(const RegionGraph& graph, const RegionOptions& options,
                      const std::vector<uint32_t>& region) {
  auto is_rest = [&](uint32_t v) {
    return options.colors[graph.color[v]].is_rest && !graph.alone[v];
  };
  BYOC_CHECK(region.size() == graph.size(), region.size(), " of ", graph.size(),
             " nodes have a region");
  BYOC_CHECK(graph.tensor.empty() || graph.tensor.size() == graph.source.size(),
             graph.tensor.size(), " of ", graph.source.size(), " edges are tensors");
  PartitionSize size;
  std::vector<uint8_t> counted(graph.size(), 0);
  uint32_t tensors = graph.size();
  for (uint32_t tensor : graph.tensor) tensors = std::max(tensors, tensor + 1);
  std::vector<uint8_t> crosses(tensors, 0);
  for (uint32_t v = 0; v < graph.size(); ++v) {
    if (!is_rest(v) && !std::exchange(counted[region[v]], 1)) ++size.regions;
    for (uint32_t e = graph.first[v]; e < graph.first[v + 1]; ++e) {
      uint32_t u = graph.source[e], tensor = graph.tensor.empty() ? u : graph.tensor[e];
      if (region[u] == region[v] || (is_rest(u) && is_rest(v))) continue;
      size.border_tensors += !std::exchange(crosses[tensor], 1);
    }
  }
  return size;
}

}  // namespace byoc
