// SPDX-License-Identifier: Apache-2.0
#include "core/tools/report/graph_json.h"

#include <cmath>
#include <unordered_map>

#include "byoc/base/json.h"
#include "core/tools/layout/grouped_layout.h"
#include "core/tools/show/picture.h"

namespace byoc::driver {
namespace {

using layout::kCollapsed, layout::kExpanded, layout::kNone;

double rounded(double value) { return std::round(value * 10) / 10; }
Json index_json(size_t index) { return index == kNone ? Json() : Json(index); }

std::string_view look_text(Drawn::Look look) {
  switch (look) {
    case Drawn::kInput:
      return "input";
    case Drawn::kOutput:
      return "output";
    case Drawn::kOp:
      break;
  }
  return "op";
}

Json types_json(const std::vector<TypeId>& types) {
  Json out = Json::array();
  for (TypeId type : types) out.push_back(cat(*type));
  return out;
}

double bytes_of(const std::vector<TypeId>& types) {
  double bytes = 0;
  for (TypeId type : types) {
    Result<int64_t> size = size_bytes(*type);
    if (size.ok()) bytes += static_cast<double>(*size);
  }
  return bytes;
}

/// Finds the explained ops of nodes by their locs.
class OpIndex {
 public:
  explicit OpIndex(const Explanation& explanation) : explanation_(explanation) {
    for (size_t k = 0; k < explanation.ops.size(); ++k)
      by_loc_.emplace(explanation.ops[k].label.id(), k);
  }
  /// Adds "ops", the explained ops among those of a node, and "added_for", the explained ops for
  /// which a pass added the node's op: changes of layout have the loc of their op.
  void find(const std::vector<DrawnOp>& all, Json& node) const {
    node["ops"] = node["added_for"] = Json::array();
    for (const DrawnOp& one : all) {
      auto at = by_loc_.find(one.loc.id());
      if (at == by_loc_.end()) continue;
      bool is_run = explanation_.ops[at->second].runs[0].op == one.op || one.op.text() != kHelper;
      node[is_run ? "ops" : "added_for"].push_back(at->second);
    }
  }

 private:
  static constexpr std::string_view kHelper = "layout_transform";
  const Explanation& explanation_;
  std::unordered_map<uint32_t, size_t> by_loc_;
};

Json nodes_json(const Drawing& drawing, const OpIndex& index) {
  Json out = Json::array();
  for (const Drawn& node : drawing.nodes) {
    Json json = {{"look", look_text(node.look)},
                 {"region", index_json(node.region)},
                 {"label", lines_of(node.label)},
                 {"inputs", types_json(node.inputs)},
                 {"outputs", types_json(node.outputs)},
                 {"bytes", bytes_of(node.inputs) + bytes_of(node.outputs)}};
    index.find(node.ops, json);
    out.push_back(std::move(json));
  }
  return out;
}

/// Counts the ops of the model in each region, as the explanation does, without added ones.
Json regions_json(const Drawing& drawing, const Json& nodes) {
  std::vector<size_t> ops(drawing.regions.size());
  for (const Json& node : nodes)
    if (!node["region"].is_null()) ops[node["region"].get<size_t>()] += node["ops"].size();
  Json out = Json::array();
  for (size_t k = 0; k < ops.size(); ++k) {
    const DrawnRegion& region = drawing.regions[k];
    out.push_back({{"plugin", region.plugin}, {"function", region.function}, {"ops", ops[k]}});
  }
  return out;
}

Json verticals_json(const std::vector<layout::Vertical>& verticals) {
  Json out = Json::array();
  for (const layout::Vertical& v : verticals)
    out.push_back({v.first_row, v.last_row, rounded(v.x)});
  return out;
}

Json ports_json(const std::vector<layout::Port>& ports) {
  Json out = Json::array();
  for (const layout::Port& port : ports) out.push_back({port.source, rounded(port.x)});
  return out;
}

Json box_json(const layout::Box& box) {
  Json sizes = Json::array(), x = Json::array();
  for (layout::Mode mode : {kCollapsed, kExpanded}) {
    sizes.push_back({rounded(box.size[mode].width), rounded(box.size[mode].height)});
    x.push_back(rounded(box.x[mode]));
  }
  return {{"region", index_json(box.group)},
          {"first", box.first},
          {"count", box.count},
          {"row", box.row},
          {"size", sizes},
          {"x", x},
          {"in", ports_json(box.in)},
          {"out", ports_json(box.out)}};
}

Json line_json(const layout::InnerLine& line) {
  Json points = Json::array();
  for (const layout::Point& point : line.points) {
    points.push_back(rounded(point.x));
    points.push_back(rounded(point.y));
  }
  return {{"from", index_json(line.from)},
          {"to", index_json(line.to)},
          {"box", line.box},
          {"points", points}};
}

Json layout_json(const Drawing& drawing) {
  layout::GroupedLayout layout = layout_of(drawing);
  Json out;
  for (const char* list : {"boxes", "pairs", "links", "lines", "at", "sizes", "width"})
    out[list] = Json::array();
  for (const layout::Box& box : layout.boxes) out["boxes"].push_back(box_json(box));
  for (const layout::Pair& pair : layout.pairs) {
    out["pairs"].push_back({{"from", pair.from},
                            {"to", pair.to},
                            {"verticals",
                             {verticals_json(pair.verticals[kCollapsed]),
                              verticals_json(pair.verticals[kExpanded])}}});
  }
  for (const layout::Link& link : layout.links) out["links"].push_back({link.source, link.pair});
  for (const layout::InnerLine& line : layout.lines) out["lines"].push_back(line_json(line));
  for (size_t node = 0; node < drawing.nodes.size(); ++node) {
    layout::Size size = node_size(drawing.nodes[node]);
    out["at"].push_back({rounded(layout.at[node].x), rounded(layout.at[node].y)});
    out["sizes"].push_back({rounded(size.width), rounded(size.height)});
  }
  for (layout::Mode mode : {kCollapsed, kExpanded})
    out["width"].push_back(rounded(layout.rows[mode].size.width));
  out["row_gap"] = layout::kRowGap;
  return out;
}

}  // namespace

Json graph_json(const Drawing& drawing, const Explanation& explanation) {
  Json nodes = nodes_json(drawing, OpIndex(explanation)), edges = Json::array();
  for (const DrawnEdge& edge : drawing.edges) edges.push_back({edge.from, edge.to, edge.tooltip});
  return {{"nodes", nodes},
          {"regions", regions_json(drawing, nodes)},
          {"edges", edges},
          {"layout", layout_json(drawing)}};
}

}  // namespace byoc::driver
