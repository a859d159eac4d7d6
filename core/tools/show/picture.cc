// SPDX-License-Identifier: Apache-2.0
#include "core/tools/show/picture.h"

#include <algorithm>
#include <map>

#include "byoc/base/check.h"
#include "core/tools/show/drawing.h"
#include "core/tools/show/graphviz.h"

namespace byoc::driver {
namespace {

/// A colour of Okabe and Ito's palette, which can be distinguished with any colour vision. Boxes
/// have the light variant.
struct Colour {
  std::string_view strong, light, text = "#000000";
};
constexpr Colour kColours[] = {{"#56b4e9", "#e6f3fb"}, {"#e69f00", "#fdf3df"},
                               {"#009e73", "#def2ec"}, {"#cc79a7", "#f8ebf3"},
                               {"#f0e442", "#fdfbe0"}, {"#0072b2", "#dceaf4", "#ffffff"},
                               {"#d55e00", "#fbe8dc"}};
constexpr Colour kGrey = {"#d9d9d9", "#f2f2f2"};

/// Assigns colours to plugins in the order of their names. When there are more plugins than
/// colours, colours are used again, with dashed boxes.
class Palette {
 public:
  explicit Palette(const Drawing& drawing) {
    for (const DrawnRegion& region : drawing.regions) ops_[region.plugin] += region.ops;
    size_t k = 0;
    for (const auto& [plugin, ops] : ops_) index_[plugin] = k++;
  }
  const Colour& colour(const std::string& plugin) const {
    return kColours[index_.at(plugin) % std::size(kColours)];
  }
  bool is_dashed(const std::string& plugin) const {
    return index_.at(plugin) >= std::size(kColours);
  }
  const std::map<std::string, size_t>& ops() const { return ops_; }

 private:
  std::map<std::string, size_t> ops_, index_;
};

std::string ops_text(size_t ops) { return cat(ops, ops == 1 ? " op" : " ops"); }

std::string html_escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '&') out += "&amp;";
    else out += c;
  }
  return out;
}

class DotWriter {
 public:
  DotWriter(const Drawing& drawing, bool folded)
      : drawing_(drawing), palette_(drawing), folded_(folded) {}

  std::string run(const std::string& title) {
    header(title);
    for (size_t region = 0; region < drawing_.regions.size() && !folded_; ++region) box(region);
    for (size_t node = 0; node < drawing_.nodes.size(); ++node) {
      if (folded_ || drawing_.nodes[node].region == kNoRegion) draw(node);
    }
    edges();
    return std::move(out_) + "}\n";
  }

 private:
  void header(const std::string& title);
  void legend_row(std::string_view colour, const std::string& text) {
    out_ += cat("<TR><TD FIXEDSIZE=\"TRUE\" WIDTH=\"22\" HEIGHT=\"12\" BGCOLOR=\"", colour,
                "\"></TD><TD ALIGN=\"LEFT\">", html_escaped(text), "</TD></TR>");
  }
  void box(size_t region);
  void draw(size_t node);
  void edges();

  const Drawing& drawing_;
  Palette palette_;
  bool folded_;
  std::vector<std::vector<size_t>> members_;
  std::string out_;
};

void DotWriter::header(const std::string& title) {
  members_.resize(drawing_.regions.size());
  for (size_t node = 0; node < drawing_.nodes.size(); ++node) {
    if (drawing_.nodes[node].region != kNoRegion)
      members_[drawing_.nodes[node].region].push_back(node);
  }
  out_ +=
      "digraph byoc {\n"
      "  graph [fontname=\"Helvetica\" fontsize=11 ranksep=0.22 nodesep=0.18 bgcolor=white "
      "labelloc=t labeljust=l tooltip=\" \"\n    label=<<TABLE BORDER=\"0\" "
      "CELLBORDER=\"0\" CELLSPACING=\"2\"><TR><TD ALIGN=\"LEFT\"><B>";
  out_ += html_escaped(title) +
          "</B></TD></TR><TR><TD ALIGN=\"LEFT\"><TABLE BORDER=\"0\" ALIGN=\"LEFT\">";
  for (const auto& [plugin, ops] : palette_.ops())
    legend_row(palette_.colour(plugin).strong, cat(plugin, ": ", ops_text(ops)));
  if (drawing_.ops_outside > 0)
    legend_row(kGrey.strong, cat("in no region: ", ops_text(drawing_.ops_outside)));
  out_ +=
      "</TABLE></TD></TR><TR><TD ALIGN=\"LEFT\">thick line: a border tensor</TD></TR>"
      "</TABLE>>];\n"
      "  node [fontname=\"Helvetica\" fontsize=9 shape=box style=filled height=0.28 "
      "width=1.15 margin=\"0.08,0.03\" color=\"#555555\" penwidth=0.6];\n"
      "  edge [arrowsize=0.45 color=\"#777777\" penwidth=0.8];\n";
}

void DotWriter::box(size_t region) {
  const DrawnRegion& r = drawing_.regions[region];
  const Colour& colour = palette_.colour(r.plugin);
  out_ += cat("  subgraph cluster_", region,
              " {\n    label=", dot_string(cat(r.plugin, " · ", ops_text(r.ops))),
              " tooltip=", dot_tooltip(r.function), " style=\"rounded,filled",
              palette_.is_dashed(r.plugin) ? ",dashed" : "", "\" fillcolor=\"", colour.light,
              "\" color=\"", colour.strong, "\" fontsize=9 margin=6;\n");
  for (size_t node : members_[region]) draw(node);
  out_ += "  }\n";
}

void DotWriter::draw(size_t node) {
  const Drawn& n = drawing_.nodes[node];
  BYOC_CHECK(n.region == kNoRegion || n.region < drawing_.regions.size(), "region ", n.region);
  bool is_end = n.look == Drawn::kInput || n.look == Drawn::kOutput;
  Colour colour =
      n.region == kNoRegion ? kGrey : palette_.colour(drawing_.regions[n.region].plugin);
  if (is_end) colour = {"#ffffff", "#ffffff"};
  out_ += cat("    n", node, " [label=", dot_string(n.label), " tooltip=", dot_tooltip(n.tooltip),
              " fillcolor=\"", colour.strong, "\" fontcolor=\"", colour.text, "\"",
              is_end ? " style=\"filled,rounded\"" : "", "];\n");
}

void DotWriter::edges() {
  for (const DrawnEdge& edge : drawing_.edges) {
    out_ += cat("  n", edge.from, " -> n", edge.to, " [tooltip=", dot_tooltip(edge.tooltip),
                edge.is_border ? " penwidth=2.2 color=\"#222222\"" : "", "];\n");
  }
}

}  // namespace

Result<Picture> draw(const IRModule& module, const std::string& title, size_t max_nodes) {
  DrawingSize size = drawing_size(module);
  Picture picture;
  picture.is_folded = size.nodes > max_nodes;
  picture.unfolded_nodes = size.nodes;
  picture.nodes = picture.is_folded ? size.folded_nodes : size.nodes;
  if (picture.nodes > max_nodes) {
    return Status(Code::kOutOfRange,
                  cat("too large to draw: ", size.nodes, " nodes, and ", size.folded_nodes,
                      " with one node per region; a picture has at most ", max_nodes))
        .with_slug("too-large")
        .with_help(
            "plugins that take more ops make fewer, larger regions; without --svg the table "
            "is printed, and -o FILE writes the module");
  }
  Drawing drawing = make_drawing(module, picture.is_folded);
  picture.dot = DotWriter(drawing, picture.is_folded).run(title);
  return picture;
}

}  // namespace byoc::driver
