// SPDX-License-Identifier: Apache-2.0
#include "core/tools/layout/layers.h"

#include <algorithm>
#include <queue>

#include "byoc/base/check.h"

namespace byoc::layout {
namespace {

constexpr int kOrderSweeps = 8;

class LayerMaker {
 public:
  LayerMaker(size_t nodes, std::span<const Edge> edges, std::span<const Pin> pins)
      : edges_(edges), pins_(pins) {
    out_.nodes = nodes;
    out_.row.assign(nodes, 0);
    out_.routes.resize(edges.size());
    for (const Edge& edge : edges)
      BYOC_CHECK(edge.from < edge.to && edge.to < nodes, "edge ", edge.from, " -> ", edge.to);
  }

  Layers run() {
    sort_edges();
    choose_rows();
    add_bends();
    add_lanes();
    connect();
    fill_rows();
    for (int sweep = 0; sweep < kOrderSweeps; ++sweep) sweep % 2 == 0 ? sweep_down() : sweep_up();
    return std::move(out_);
  }

 private:
  Pin pin(size_t node) const { return pins_.empty() ? Pin::kNone : pins_[node]; }
  uint32_t span(const Edge& edge) const { return out_.row[edge.to] - out_.row[edge.from]; }

  // Groups the edges by their upper end.
  void sort_edges() {
    first_.assign(out_.nodes + 1, 0);
    readers_.resize(edges_.size());
    for (const Edge& edge : edges_) ++first_[edge.from + 1];
    for (size_t k = 0; k < out_.nodes; ++k) first_[k + 1] += first_[k];
    std::vector<size_t> next(first_.begin(), first_.end() - 1);
    for (size_t k = 0; k < edges_.size(); ++k) readers_[next[edges_[k].from]++] = k;
  }
  std::span<const size_t> edges_from(size_t node) const {
    return std::span(readers_).subspan(first_[node], first_[node + 1] - first_[node]);
  }

  void choose_rows();
  void pull_down();
  void add_bends();
  void add_lanes();
  void connect();
  void fill_rows();
  void sweep_down() {
    for (size_t r = 1; r < out_.rows.size(); ++r) order_row(out_.rows[r], out_.above);
  }
  void sweep_up() {
    for (size_t r = out_.rows.size(); r-- > 1;) order_row(out_.rows[r - 1], out_.below);
  }
  void order_row(std::vector<uint32_t>& row, const std::vector<std::vector<uint32_t>>& neighbours);

  std::span<const Edge> edges_;
  std::span<const Pin> pins_;
  std::vector<size_t> first_, readers_;  // edges by upper end
  std::vector<double> place_;            // by cell: its index in its row
  std::vector<std::pair<double, uint32_t>> keyed_;
  Layers out_;
};

void LayerMaker::choose_rows() {
  bool has_top = std::find(pins_.begin(), pins_.end(), Pin::kTop) != pins_.end();
  for (size_t node = 0; node < out_.nodes; ++node)
    out_.row[node] = has_top && pin(node) != Pin::kTop ? 1 : 0;
  for (size_t node = 0; node < out_.nodes; ++node) {
    for (size_t edge : edges_from(node)) {
      uint32_t& row = out_.row[edges_[edge].to];
      row = std::max(row, out_.row[node] + 1);
    }
  }
  pull_down();
  uint32_t last = 0;
  for (uint32_t row : out_.row) last = std::max(last, row);
  for (size_t node = 0; node < out_.nodes; ++node)
    if (pin(node) == Pin::kBottom) out_.row[node] = last;
}

// Moves a node to its readers when more edges leave it than reach it, which makes edges shorter.
void LayerMaker::pull_down() {
  std::vector<size_t> reads(out_.nodes);
  for (const Edge& edge : edges_) ++reads[edge.to];
  for (size_t node = out_.nodes; node-- > 0;) {
    std::span<const size_t> edges = edges_from(node);
    if (pin(node) != Pin::kNone || edges.size() <= reads[node]) continue;
    uint32_t row = UINT32_MAX;
    for (size_t edge : edges) row = std::min(row, out_.row[edges_[edge].to] - 1);
    out_.row[node] = row;
  }
}

void LayerMaker::add_bends() {
  for (size_t node = 0; node < out_.nodes; ++node) {
    std::vector<uint32_t> chain;  // the bends below this node
    for (size_t edge : edges_from(node)) {
      uint32_t rows = span(edges_[edge]);
      if (rows < 2 || rows - 1 > kMostBends) continue;
      while (chain.size() < rows - 1) {
        chain.push_back(static_cast<uint32_t>(out_.row.size()));
        out_.row.push_back(out_.row[node] + static_cast<uint32_t>(chain.size()));
      }
      out_.routes[edge].bends.assign(chain.begin(), chain.begin() + rows - 1);
    }
  }
}

// Gives each node with longer edges the first lane that is free over all rows that they pass.
void LayerMaker::add_lanes() {
  struct Long {
    uint32_t begin, end;
    size_t node;
  };
  std::vector<Long> all;
  for (size_t node = 0; node < out_.nodes; ++node) {
    uint32_t end = 0;
    for (size_t edge : edges_from(node))
      if (span(edges_[edge]) > kMostBends + 1) end = std::max(end, out_.row[edges_[edge].to]);
    if (end > 0) all.push_back({out_.row[node], end, node});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Long& a, const Long& b) { return a.begin < b.begin; });
  using Used = std::pair<uint32_t, uint32_t>;  // end, lane
  std::priority_queue<Used, std::vector<Used>, std::greater<>> used;
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> free;
  for (const Long& edge_bundle : all) {
    while (!used.empty() && used.top().first <= edge_bundle.begin)
      free.push(used.top().second), used.pop();
    if (free.empty()) free.push(out_.lanes++);
    uint32_t lane = free.top();
    free.pop();
    used.push({edge_bundle.end, lane});
    for (size_t edge : edges_from(edge_bundle.node))
      if (span(edges_[edge]) > kMostBends + 1) out_.routes[edge].lane = lane;
  }
}

// Links the cells of neighbouring rows that an edge joins, each pair once.
void LayerMaker::connect() {
  out_.above.resize(out_.row.size());
  out_.below.resize(out_.row.size());
  auto link = [&](uint32_t a, uint32_t b) {
    if (out_.row[b] == out_.row[a] + 1) out_.below[a].push_back(b);
  };
  for (size_t k = 0; k < edges_.size(); ++k) {
    auto upper = static_cast<uint32_t>(edges_[k].from), lower = static_cast<uint32_t>(edges_[k].to);
    for (uint32_t bend : out_.routes[k].bends) link(upper, bend), upper = bend;
    link(upper, lower);
  }
  for (uint32_t cell = 0; cell < out_.below.size(); ++cell) {
    std::vector<uint32_t>& all = out_.below[cell];
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    for (uint32_t lower : all) out_.above[lower].push_back(cell);
  }
}

void LayerMaker::fill_rows() {
  uint32_t rows = 0;
  for (uint32_t row : out_.row) rows = std::max(rows, row + 1);
  out_.rows.resize(rows);
  place_.resize(out_.row.size());
  for (uint32_t cell = 0; cell < out_.row.size(); ++cell) {
    std::vector<uint32_t>& row = out_.rows[out_.row[cell]];
    place_[cell] = static_cast<double>(row.size());
    row.push_back(cell);
  }
}

// Sorts a row by the mean place of the neighbours; a cell without any keeps its place.
void LayerMaker::order_row(std::vector<uint32_t>& row,
                           const std::vector<std::vector<uint32_t>>& neighbours) {
  keyed_.clear();
  for (uint32_t cell : row) {
    double sum = 0;
    for (uint32_t other : neighbours[cell]) sum += place_[other];
    auto n = static_cast<double>(neighbours[cell].size());
    keyed_.emplace_back(n > 0 ? sum / n : place_[cell], cell);
  }
  std::stable_sort(keyed_.begin(), keyed_.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (size_t k = 0; k < row.size(); ++k) {
    row[k] = keyed_[k].second;
    place_[row[k]] = static_cast<double>(k);
  }
}

}  // namespace

Layers make_layers(size_t nodes, std::span<const Edge> edges, std::span<const Pin> pins) {
  return LayerMaker(nodes, edges, pins).run();
}

}  // namespace byoc::layout
