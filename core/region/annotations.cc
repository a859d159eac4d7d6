// SPDX-License-Identifier: Apache-2.0
#include "core/region/annotations.h"

#include <unordered_map>

#include "byoc/base/disjoint_sets.h"
#include "byoc/ir/intern.h"
#include "byoc/op/op.h"

namespace byoc {

ValueId through_annotations(const Function& function, ValueId value) {
  while (is_annotation(function.nodes[value.node])) {
    value = function.args(function.nodes[value.node])[0];
  }
  return value;
}

std::string node_name(const Function& function, uint32_t node) {
  const Node& n = function.nodes[node];
  if (auto* param = std::get_if<Param>(&n.kind)) return cat("parameter ", param->name);
  std::string kind =
      std::visit(overloaded{
                     [](const Param&) { return std::string(); },
                     [](const Constant&) { return std::string("constant"); },
                     [](const Call& c) { return c.op->name; },
                     [](const Invoke& c) { return cat("call of @", c.function); },
                     [](const Extern& c) { return cat("call_dps_packed @", c.symbol); },
                     [](const Control& c) {
                       return cat(c.action == Control::kIf ? "if @" : "loop @", c.body);
                     },
                 },
                 n.kind);
  return n.loc.empty() ? cat("node ", node, " ", kind) : cat(kind, " \"", n.loc, "\"");
}

namespace {

constexpr uint32_t kNone = UINT32_MAX;

// Reads a text attribute as a Symbol. Neighbours mostly have the same text; then the Symbol of the
// last call is returned after one comparison.
class TextAttr {
 public:
  Symbol read(const Attrs& attrs, Symbol name) {
    const AttrValue* value = attrs.find(name);
    auto* text = value ? std::get_if<std::string>(value) : nullptr;
    if (text == nullptr) return attrs.s(name);
    if (last_.text() != *text) last_ = *text;
    return last_;
  }

 private:
  Symbol last_;
};

// Groups ops that are joined by direct edges, and takes each group's region from the begins and
// ends around it.
class Reader {
 public:
  Reader(const Function& function, Symbol name) : function_(function), name_(name) {}
  Result<Annotations> read();

 private:
  bool is_op(uint32_t node) const {
    const Node& n = function_.nodes[node];
    return !std::holds_alternative<Param>(n.kind) && !std::holds_alternative<Constant>(n.kind) &&
           !is_annotation(n);
  }
  bool is_constant(uint32_t node) const {
    return std::holds_alternative<Constant>(function_.nodes[node].kind);
  }
  Status error(std::string_view what, uint32_t node) const {
    return invalid(std::string(what))
        .with_slug("annotation")
        .at(node_name(function_, node))
        .at(cat("@", name_));
  }
  uint32_t& index_of(int64_t number);
  Status read_annotation(uint32_t node, uint32_t& region);
  Status assign(uint32_t op, uint32_t region, uint32_t at);
  Status read_edges();
  Status check_entries();
  Status check_exits();

  const Function& function_;
  Symbol name_;
  DisjointSets groups_;  // of nodes that direct edges join
  std::vector<uint32_t> region_of_root_, annotation_region_;
  std::vector<Region> regions_;  // in order of their first annotation
  std::vector<uint32_t> by_small_number_;
  std::unordered_map<int64_t, uint32_t> by_number_;  // those too large for the array
  TextAttr compiler_;
};

// Returns the slot with the index of region `number`; it holds kNone the first time. The numbers
// that passes assign are small, so an array holds most of them.
uint32_t& Reader::index_of(int64_t number) {
  if (number < 0 || static_cast<uint64_t>(number) >= by_small_number_.size())
    return by_number_.try_emplace(number, kNone).first->second;
  return by_small_number_[static_cast<size_t>(number)];
}

Status Reader::read_annotation(uint32_t node, uint32_t& region) {
  static const Symbol kCompiler = lasting_symbol("compiler"), kOpen = lasting_symbol("open"),
                      kRegion = lasting_symbol("region");
  const Attrs& attrs = *std::get<Call>(function_.nodes[node].kind).attrs;
  Region now{attrs.i(kRegion), compiler_.read(attrs, kCompiler), attrs.b(kOpen, false)};
  uint32_t& known_index = index_of(now.number);
  if (known_index == kNone) {
    region = known_index = static_cast<uint32_t>(regions_.size());
    regions_.push_back(now);
    return {};
  }
  region = known_index;
  const Region& known = regions_[region];
  if (known.compiler != now.compiler) {
    return error(cat("region ", now.number, " is of compiler \"", known.compiler, "\" and of \"",
                     now.compiler, "\""),
                 node);
  }
  if (known.open != now.open)
    return error(cat("region ", now.number, " is open in one place and closed in another"), node);
  return {};
}

Status Reader::assign(uint32_t op, uint32_t region, uint32_t at) {
  uint32_t& known = region_of_root_[groups_.find(op)];
  if (known == kNone) known = region;
  if (known == region) return {};
  return error(cat("mixed regions: this op is in region ", regions_[known].number,
                   " and in region ", regions_[region].number,
                   "; a compiler_end and a compiler_begin are missing between them"),
               at);
}

Status Reader::read_edges() {
  for (uint32_t node = 0; node < function_.nodes.size(); ++node) {
    if (!is_op(node)) continue;
    for (ValueId arg : function_.args(function_.nodes[node])) {
      if (is_op(arg.node)) groups_.join(node, arg.node);
    }
  }
  for (uint32_t node = 0; node < function_.nodes.size(); ++node) {
    const Node& n = function_.nodes[node];
    if (is_annotation(n)) BYOC_TRY_STATUS(read_annotation(node, annotation_region_[node]));
    for (ValueId arg : function_.args(n)) {
      const Node& from = function_.nodes[arg.node];
      if (is_op(node) && is_begin(from))
        BYOC_TRY_STATUS(assign(node, annotation_region_[arg.node], node));
      if (is_end(n) && is_op(arg.node))
        BYOC_TRY_STATUS(assign(arg.node, annotation_region_[node], arg.node));
    }
  }
  return {};
}

// Checks that every value that an op of a region reads is a constant, or comes from the same region
// or from a begin.
Status Reader::check_entries() {
  for (uint32_t node = 0; node < function_.nodes.size(); ++node) {
    const Node& n = function_.nodes[node];
    for (ValueId arg : function_.args(n)) {
      const Node& from = function_.nodes[arg.node];
      uint32_t region = is_op(node) ? region_of_root_[groups_.find(node)] : kNone;
      if (is_begin(n) && is_begin(from)) {
        return error(cat("nested regions: compiler_begin of region ",
                         regions_[annotation_region_[node]].number, " inside region ",
                         regions_[annotation_region_[arg.node]].number),
                     node);
      }
      if (is_begin(n) && is_op(arg.node) && region_of_root_[groups_.find(arg.node)] != kNone) {
        return error(cat("unbalanced: a value of region ",
                         regions_[region_of_root_[groups_.find(arg.node)]].number,
                         " enters region ", regions_[annotation_region_[node]].number,
                         " without leaving its own by compiler_end"),
                     node);
      }
      if (is_end(n) && !is_op(arg.node)) {
        return error(cat("compiler_end of region ", regions_[annotation_region_[node]].number,
                         " on ", node_name(function_, arg.node), ", not an op of that region"),
                     node);
      }
      bool enters = std::holds_alternative<Param>(from.kind) || is_end(from);
      if (region != kNone && enters) {
        return error(cat("unbalanced: region ", regions_[region].number, " reads ",
                         node_name(function_, arg.node), " without compiler_begin"),
                     node);
      }
    }
  }
  return {};
}

// Checks that every value that leaves a region passes a compiler_end.
Status Reader::check_exits() {
  for (ValueId result : function_.results) {
    const Node& from = function_.nodes[result.node];
    if (is_op(result.node) && region_of_root_[groups_.find(result.node)] != kNone) {
      return error(cat("unbalanced: a value of region ",
                       regions_[region_of_root_[groups_.find(result.node)]].number,
                       " is returned without compiler_end"),
                   result.node);
    }
    if (is_begin(from))
      return error("unbalanced: the value of a compiler_begin is returned", result.node);
  }
  return {};
}

Result<Annotations> Reader::read() {
  size_t n = function_.nodes.size();
  groups_ = DisjointSets(n);
  region_of_root_.assign(n, kNone);
  annotation_region_.assign(n, kNone);
  by_small_number_.assign(n, kNone);
  BYOC_TRY_STATUS(read_edges());
  BYOC_TRY_STATUS(check_entries());
  BYOC_TRY_STATUS(check_exits());
  Annotations out;
  out.region_of.assign(n, kOutside);
  std::vector<uint32_t> renumbered(regions_.size(), kNone);
  for (uint32_t node = 0; node < n; ++node) {
    uint32_t region = is_op(node) ? region_of_root_[groups_.find(node)] : kNone;
    if (region == kNone) continue;
    if (renumbered[region] == kNone) {
      renumbered[region] = static_cast<uint32_t>(out.regions.size());
      out.regions.push_back(regions_[region]);
    }
    out.region_of[node] = renumbered[region];
  }
  for (uint32_t node = 0; node < n; ++node) {
    uint32_t region = annotation_region_[node];
    if (region != kNone && renumbered[region] == kNone) {
      return error(cat("region ", regions_[region].number, " has no op"), node);
    }
  }
  return out;
}

}  // namespace

Result<Annotations> read_annotations(const Function& function, Symbol name) {
  return Reader(function, name).read();
}

}  // namespace byoc
