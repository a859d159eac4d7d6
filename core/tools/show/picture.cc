// SPDX-License-Identifier: Apache-2.0
#include "core/tools/show/picture.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/tools/show/palette.h"
#include "core/tools/show/svg.h"

namespace byoc::driver {
namespace {

using layout::kCollapsed, layout::kExpanded, layout::kNone;
constexpr double kMargin = 12, kLegendRow = 18, kLegendText = 7.0, kTitleText = 9;

std::string ops_text(size_t ops) { return cat(ops, ops == 1 ? " op" : " ops"); }

layout::Size text_size(const std::vector<std::string>& lines) {
  size_t widest = 0;
  for (const std::string& line : lines) widest = std::max(widest, displayed_columns(line));
  return {std::max(64.0, std::ceil(static_cast<double>(widest) * kFontSize * 0.62) + 14),
          static_cast<double>(lines.size()) * kLineHeight + 8};
}

/// Returns the plugins with their ops, by name.
std::map<std::string, size_t> plugins_of(const Drawing& drawing) {
  std::map<std::string, size_t> ops;
  for (const DrawnRegion& region : drawing.regions) ops[region.plugin] += region.ops;
  return ops;
}

std::set<std::string> with_names_of(std::set<std::string> names,
                                    const std::map<std::string, size_t>& plugins) {
  for (const auto& [plugin, ops] : plugins) names.insert(plugin);
  return names;
}

/// Writes the picture: a legend, then boxes, lines and nodes in this order: no box hides a line.
class PictureWriter {
 public:
  PictureWriter(const Drawing& drawing, const layout::GroupedLayout& layout, layout::Mode mode,
                const std::set<std::string>& known)
      : drawing_(drawing),
        layout_(layout),
        mode_(mode),
        plugins_(plugins_of(drawing)),
        palette_(with_names_of(known, plugins_)) {}

  std::string run(const std::string& title) {
    legend(title);
    const layout::Size& size = layout_.rows[mode_].size;
    svg_.grow(size.width + 2 * kMargin, top_ + size.height + kMargin);
    for (size_t k = 0; k < layout_.boxes.size(); ++k) box(k);
    lines();
    for (size_t k = 0; k < layout_.boxes.size(); ++k) label(k);
    for (size_t node = 0; node < drawing_.nodes.size(); ++node) {
      bool is_hidden = mode_ == kCollapsed && drawing_.nodes[node].region != kNoRegion;
      if (!is_hidden) draw(node);
    }
    return svg_.text();
  }

 private:
  void legend(const std::string& title);
  void legend_row(const Colour& colour, const std::string& text) {
    svg_.legend_row(kMargin, top_, colour.strong, text);
    svg_.grow(kMargin + 30 + static_cast<double>(text.size()) * kLegendText, top_ + kLegendRow);
    top_ += kLegendRow;
  }
  void box(size_t index);
  void label(size_t index);
  void lines();
  void line(std::vector<layout::Point> points, size_t source, Svg::Line kind);
  void draw(size_t node);
  bool is_border(const layout::Link& link) const;

  const Drawing& drawing_;
  const layout::GroupedLayout& layout_;
  layout::Mode mode_;
  std::map<std::string, size_t> plugins_;
  Palette palette_;
  double top_ = kMargin;
  Svg svg_;
};

void PictureWriter::legend(const std::string& title) {
  svg_.title(kMargin, top_, title);
  svg_.grow(2 * kMargin + static_cast<double>(displayed_columns(title)) * kTitleText, 0);
  top_ += kLegendRow + 4;
  for (const auto& [plugin, ops] : plugins_)
    legend_row(palette_.colour(plugin), cat(plugin, ": ", ops_text(ops)));
  if (drawing_.ops_outside > 0)
    legend_row(kGrey, cat("in no region: ", ops_text(drawing_.ops_outside)));
  svg_.plain(kMargin, top_, "thick line: a border tensor");
  top_ += kLegendRow + kMargin;
}

void PictureWriter::box(size_t index) {
  const layout::Box& box = layout_.boxes[index];
  if (box.group == kNone) return;
  const DrawnRegion& region = drawing_.regions[box.group];
  layout::Point top = layout_.top(index, mode_);
  Svg::Rect rect{top.x - box.size[mode_].width / 2 + kMargin, top.y + top_, box.size[mode_].width,
                 box.size[mode_].height};
  const Colour& colour = palette_.colour(region.plugin);
  bool is_node = mode_ == kCollapsed;
  svg_.begin(is_node ? "node" : "cluster", region.function);
  svg_.rect(rect, is_node ? colour.strong : colour.light, colour.strong,
            palette_.is_dashed(region.plugin));
  if (is_node) svg_.lines(rect, {region.plugin, ops_text(region.ops)}, colour.text);
  svg_.end();
}

// Writes the words of a box over the lines that cross it.
void PictureWriter::label(size_t index) {
  const layout::Box& box = layout_.boxes[index];
  if (box.group == kNone || mode_ == kCollapsed) return;
  layout::Point top = layout_.top(index, mode_);
  svg_.plain(top.x - box.size[mode_].width / 2 + kMargin + 8, top.y + top_,
             region_label(drawing_.regions[box.group]));
}

bool PictureWriter::is_border(const layout::Link& link) const {
  const layout::Pair& pair = layout_.pairs[link.pair];
  size_t reader = layout_.boxes[pair.to].first;
  return drawing_.nodes[link.source].look != Drawn::kInput &&
         drawing_.nodes[reader].look != Drawn::kOutput;
}

void PictureWriter::line(std::vector<layout::Point> points, size_t source, Svg::Line kind) {
  for (layout::Point& point : points) point.x += kMargin, point.y += top_;
  const Drawn& from = drawing_.nodes[source];
  std::string tooltip = mode_ == kExpanded && !from.outputs.empty() ? cat(*from.outputs[0]) : "";
  svg_.edge(points, tooltip, kind);
}

// Draws the lines of a value that leaves its region from the node to the edge of its box, and from
// the edge of the next box to its readers; there is one line per pair of regions that are folded.
void PictureWriter::lines() {
  std::vector<bool> is_drawn(layout_.pairs.size());
  for (const layout::Link& link : layout_.links) {
    if (mode_ == kCollapsed && is_drawn[link.pair]) continue;
    is_drawn[link.pair] = true;
    bool is_open = mode_ == kExpanded && layout_.boxes[layout_.pairs[link.pair].to].group != kNone;
    line(layout_.points(link, mode_), link.source, {is_border(link), !is_open});
  }
  if (mode_ == kCollapsed) return;
  for (const layout::InnerLine& inner : layout_.lines) {
    layout::Point top = layout_.top(inner.box, mode_);
    std::vector<layout::Point> points = inner.points;
    for (layout::Point& point : points) point.x += top.x, point.y += top.y;
    line(std::move(points), inner.from == kNone ? inner.to : inner.from,
         {false, inner.to != kNone});
  }
}

void PictureWriter::draw(size_t node) {
  const Drawn& n = drawing_.nodes[node];
  size_t index = layout_.box_of[node];
  const layout::Box& box = layout_.boxes[index];
  layout::Point top = layout_.top(index, mode_);
  layout::Size size = box.group == kNone ? box.size[mode_] : node_size(n);
  layout::Point middle =
      box.group == kNone ? layout::Point{top.x, top.y + size.height / 2}
                         : layout::Point{top.x + layout_.at[node].x, top.y + layout_.at[node].y};
  Svg::Rect rect{middle.x - size.width / 2 + kMargin, middle.y - size.height / 2 + top_, size.width,
                 size.height};
  Colour colour =
      n.region == kNoRegion ? kGrey : palette_.colour(drawing_.regions[n.region].plugin);
  if (n.look != Drawn::kOp) colour = {"#ffffff", "#ffffff"};
  svg_.begin("node", n.tooltip);
  svg_.rect(rect, colour.strong, "#555555", false);
  svg_.lines(rect, lines_of(n.label), colour.text);
  svg_.end();
}

}  // namespace

layout::Size node_size(const Drawn& node) { return text_size(lines_of(node.label)); }

std::vector<std::string> lines_of(std::string_view label) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin <= label.size();) {
    size_t end = std::min(label.find('\n', begin), label.size());
    lines.emplace_back(label.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::string region_label(const DrawnRegion& region) {
  return cat(region.plugin, " · ", ops_text(region.ops));
}

layout::GroupedLayout layout_of(const Drawing& drawing) {
  layout::GroupedGraph graph;
  for (const Drawn& node : drawing.nodes) {
    graph.nodes.push_back(node_size(node));
    graph.group.push_back(node.region == kNoRegion ? kNone : node.region);
  }
  for (const DrawnRegion& region : drawing.regions)
    graph.groups.push_back(text_size({region.plugin, ops_text(region.ops)}));
  for (const DrawnEdge& edge : drawing.edges) graph.edges.push_back({edge.from, edge.to});
  return layout::make_grouped_layout(graph);
}

Result<Picture> draw(const IRModule& module, const std::string& title,
                     const std::set<std::string>& known, size_t max_nodes, size_t max_boxes) {
  Picture picture;
  picture.unfolded_nodes = drawn_nodes(module);
  picture.is_folded = picture.unfolded_nodes > max_nodes;
  Drawing drawing = make_drawing(module);
  layout::GroupedLayout layout = layout_of(drawing);
  picture.nodes = picture.is_folded ? layout.boxes.size() : picture.unfolded_nodes;
  if (picture.is_folded && picture.nodes > max_boxes) {
    return Status(Code::kOutOfRange,
                  cat("too large to draw: ", picture.unfolded_nodes, " nodes, and ", picture.nodes,
                      " with one node per region; a picture has at most ", max_boxes))
        .with_slug("too-large")
        .with_help(
            "plugins that take more ops make fewer, larger regions; without --svg the table "
            "is printed, and -o FILE writes the module");
  }
  picture.svg =
      PictureWriter(drawing, layout, picture.is_folded ? kCollapsed : kExpanded, known).run(title);
  return picture;
}

}  // namespace byoc::driver
