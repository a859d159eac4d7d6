// SPDX-License-Identifier: Apache-2.0
#include "core/tools/layout/grouped_layout.h"

#include <algorithm>

#include "byoc/base/check.h"

namespace byoc::layout {
namespace {

constexpr double kPadding = 10, kHeader = 18;

bool less(const Edge& a, const Edge& b) { return a.from != b.from ? a.from < b.from : a.to < b.to; }
void sort_once(std::vector<Edge>& edges) {
  std::sort(edges.begin(), edges.end(), less);
  auto equal = [](const Edge& a, const Edge& b) { return a.from == b.from && a.to == b.to; };
  edges.erase(std::unique(edges.begin(), edges.end(), equal), edges.end());
}

double port_x(const std::vector<Port>& ports, size_t source) {
  auto at = std::lower_bound(ports.begin(), ports.end(), source,
                             [](const Port& port, size_t node) { return port.source < node; });
  return at != ports.end() && at->source == source ? at->x : 0;
}

void append_verticals(std::vector<Point>& points, const std::vector<Vertical>& verticals,
                      const Placed& placed) {
  for (const Vertical& v : verticals) {
    points.push_back({v.x, placed.row_top[v.first_row]});
    points.push_back({v.x, placed.row_top[v.last_row] + placed.row_height[v.last_row]});
  }
}

/// Lays out one group. Its graph is: a port per value that enters, the nodes, and a port per value
/// that leaves. The ports of the nearest sources come first, since long edges bend to the right.
class InnerMaker {
 public:
  InnerMaker(const GroupedGraph& graph, const Box& box) : graph_(graph), box_(box) {}

  void add_inside(const Edge& edge) { inside_.push_back(edge); }
  void add_entering(const Edge& edge) { entering_.push_back(edge); }
  void add_leaving(size_t node) { leaving_.push_back(node); }
  void run(size_t index, Box& box, GroupedLayout& out);

 private:
  void make_edges();
  void add_lines(size_t index, const Placed& placed, GroupedLayout& out) const;
  size_t real(size_t local) const {
    bool is_port = local < ports_in_.size() || local >= ports_in_.size() + box_.count;
    return is_port ? kNone : local - ports_in_.size() + box_.first;
  }

  const GroupedGraph& graph_;
  const Box& box_;
  std::vector<Edge> inside_, entering_;
  std::vector<size_t> leaving_;
  std::vector<size_t> ports_in_;  // sources, sorted
  std::vector<Edge> edges_;       // local numbers
  std::vector<Size> sizes_;
  std::vector<Pin> pins_;
};

void InnerMaker::make_edges() {
  sort_once(inside_);
  sort_once(entering_);
  for (const Edge& edge : entering_)
    if (ports_in_.empty() || ports_in_.back() != edge.from) ports_in_.push_back(edge.from);
  std::sort(leaving_.begin(), leaving_.end());
  leaving_.erase(std::unique(leaving_.begin(), leaving_.end()), leaving_.end());
  size_t shift = ports_in_.size(), port = 0;
  for (const Edge& edge : entering_) {
    if (ports_in_[port] != edge.from) ++port;
    edges_.push_back({shift - 1 - port, edge.to - box_.first + shift});
  }
  for (const Edge& edge : inside_)
    edges_.push_back({edge.from - box_.first + shift, edge.to - box_.first + shift});
  for (size_t k = 0; k < leaving_.size(); ++k)
    edges_.push_back({leaving_[k] - box_.first + shift, shift + box_.count + k});
  sizes_.assign(shift + box_.count + leaving_.size(), Size{});
  pins_.assign(sizes_.size(), Pin::kNone);
  std::fill_n(pins_.begin(), shift, Pin::kTop);
  std::fill_n(pins_.end() - static_cast<std::ptrdiff_t>(leaving_.size()), leaving_.size(),
              Pin::kBottom);
  for (size_t k = 0; k < box_.count; ++k) sizes_[shift + k] = graph_.nodes[box_.first + k];
}

void InnerMaker::run(size_t index, Box& box, GroupedLayout& out) {
  make_edges();
  Layers layers = make_layers(sizes_.size(), edges_, pins_);
  Placed placed = place(layers, edges_, sizes_);
  double middle = placed.size.width / 2;
  for (double& x : placed.x) x -= middle;
  for (auto& verticals : placed.verticals)
    for (Vertical& v : verticals) v.x -= middle;
  for (double& top : placed.row_top) top += kHeader;
  for (size_t k = 0; k < sizes_.size(); ++k) {
    uint32_t row = layers.row[k];
    Point at{placed.x[k], placed.row_top[row] + placed.row_height[row] / 2};
    if (k < ports_in_.size()) box.in.push_back({ports_in_[ports_in_.size() - 1 - k], at.x});
    else if (size_t node = real(k); node != kNone) out.at[node] = at;
    else box.out.push_back({leaving_[k - ports_in_.size() - box_.count], at.x});
  }
  std::reverse(box.in.begin(), box.in.end());
  box.size[kExpanded] = {placed.size.width + 2 * kPadding, placed.size.height + kHeader + kPadding};
  add_lines(index, placed, out);
}

void InnerMaker::add_lines(size_t index, const Placed& placed, GroupedLayout& out) const {
  for (size_t k = 0; k < edges_.size(); ++k) {
    InnerLine line{real(edges_[k].from), real(edges_[k].to), index, {}};
    auto height = [&](size_t node) { return node == kNone ? 0 : graph_.nodes[node].height; };
    Point from{placed.x[edges_[k].from], 0},
        to{placed.x[edges_[k].to], out.boxes[index].size[kExpanded].height};
    if (line.from != kNone)
      from = {out.at[line.from].x, out.at[line.from].y + height(line.from) / 2};
    if (line.to != kNone) to = {out.at[line.to].x, out.at[line.to].y - height(line.to) / 2};
    line.points.push_back(from);
    append_verticals(line.points, placed.verticals[k], placed);
    line.points.push_back(to);
    out.lines.push_back(std::move(line));
  }
}

class GroupedMaker {
 public:
  explicit GroupedMaker(const GroupedGraph& graph) : graph_(graph) {}

  GroupedLayout run() {
    make_boxes();
    sort_edges();
    for (size_t k = 0; k < out_.boxes.size(); ++k) {
      Box& box = out_.boxes[k];
      if (box.group != kNone) inner_[k].run(k, box, out_);
    }
    make_links();
    place_boxes();
    return std::move(out_);
  }

 private:
  void make_boxes();
  void sort_edges();
  void make_links();
  void place_boxes();

  const GroupedGraph& graph_;
  std::vector<InnerMaker> inner_;  // by box
  std::vector<Edge> outer_;        // source node -> box
  GroupedLayout out_;
};

void GroupedMaker::make_boxes() {
  std::vector<bool> seen(graph_.groups.size());
  out_.at.resize(graph_.nodes.size());
  for (size_t node = 0; node < graph_.nodes.size(); ++node) {
    size_t group = graph_.group[node];
    if (group == kNone || out_.boxes.empty() || out_.boxes.back().group != group) {
      BYOC_CHECK(group == kNone || !seen[group], "the nodes of group ", group, " are apart");
      if (group != kNone) seen[group] = true;
      Size size = group == kNone ? graph_.nodes[node] : graph_.groups[group];
      out_.boxes.push_back({group, node, 0, 0, {size, size}, {}, {}, {}});
    }
    ++out_.boxes.back().count;
    out_.box_of.push_back(out_.boxes.size() - 1);
  }
  for (const Box& box : out_.boxes) inner_.emplace_back(graph_, box);
}

void GroupedMaker::sort_edges() {
  for (const Edge& edge : graph_.edges) {
    size_t from = out_.box_of[edge.from], to = out_.box_of[edge.to];
    if (from == to) {
      inner_[from].add_inside(edge);
      continue;
    }
    if (graph_.group[edge.from] != kNone) inner_[from].add_leaving(edge.from);
    if (graph_.group[edge.to] != kNone) inner_[to].add_entering(edge);
    outer_.push_back({edge.from, to});
  }
  sort_once(outer_);
}

void GroupedMaker::make_links() {
  std::vector<Edge> pairs;
  for (const Edge& edge : outer_) pairs.push_back({out_.box_of[edge.from], edge.to});
  sort_once(pairs);
  for (const Edge& pair : pairs) out_.pairs.push_back({pair.from, pair.to, {}});
  for (const Edge& edge : outer_) {
    Edge pair{out_.box_of[edge.from], edge.to};
    auto at = std::lower_bound(pairs.begin(), pairs.end(), pair, less);
    out_.links.push_back({edge.from, static_cast<size_t>(at - pairs.begin())});
  }
}

void GroupedMaker::place_boxes() {
  std::vector<Edge> edges;
  for (const Pair& pair : out_.pairs) edges.push_back({pair.from, pair.to});
  Layers layers = make_layers(out_.boxes.size(), edges);
  for (Mode mode : {kCollapsed, kExpanded}) {
    std::vector<Size> sizes;
    for (const Box& box : out_.boxes) sizes.push_back(box.size[mode]);
    out_.rows[mode] = place(layers, edges, sizes);
    for (size_t k = 0; k < out_.boxes.size(); ++k) {
      out_.boxes[k].row = layers.row[k];
      out_.boxes[k].x[mode] = out_.rows[mode].x[k];
    }
    for (size_t k = 0; k < out_.pairs.size(); ++k)
      out_.pairs[k].verticals[mode] = std::move(out_.rows[mode].verticals[k]);
  }
}

}  // namespace

Point GroupedLayout::top(size_t box, Mode mode) const {
  const Placed& placed = rows[mode];
  const Box& b = boxes[box];
  double spare = placed.row_height[b.row] - b.size[mode].height;
  return {b.x[mode], placed.row_top[b.row] + spare / 2};
}

std::vector<Point> GroupedLayout::points(const Link& link, Mode mode) const {
  const Pair& pair = pairs[link.pair];
  const Box &from = boxes[pair.from], &to = boxes[pair.to];
  const Placed& placed = rows[mode];
  Point begin = top(pair.from, mode), end = top(pair.to, mode);
  begin.y += from.size[mode].height;
  if (mode == kExpanded)
    begin.x += port_x(from.out, link.source), end.x += port_x(to.in, link.source);
  std::vector<Point> points{begin};
  points.push_back({begin.x, placed.row_top[from.row] + placed.row_height[from.row]});
  append_verticals(points, pair.verticals[mode], placed);
  points.push_back({end.x, placed.row_top[to.row]});
  points.push_back(end);
  return points;
}

GroupedLayout make_grouped_layout(const GroupedGraph& graph) { return GroupedMaker(graph).run(); }

}  // namespace byoc::layout
