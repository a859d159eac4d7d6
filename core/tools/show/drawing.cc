// SPDX-License-Identifier: Apache-2.0
#include "core/tools/show/drawing.h"

#include <algorithm>

#include "byoc/base/check.h"
#include "byoc/ir/visit.h"
#include "byoc/op/op.h"

namespace byoc::driver {
namespace {

constexpr size_t kWideLabel = 22, kTooltipNames = 6;

std::string shape_text(const TensorType& type) {
  std::string out = type.dtype == DType::kF32 ? "" : cat(type.dtype, " ");
  if (type.shape.empty()) return out + "scalar";
  for (size_t k = 0; k < type.shape.size(); ++k) out += cat(k ? "×" : "", type.shape[k]);
  return out;
}

/// Joins words as in "conv2d + add + relu", and breaks the text into lines.
std::string joined(const std::vector<std::string>& words) {
  std::string out, line;
  for (const std::string& word : words) {
    if (!line.empty() && line.size() + word.size() > kWideLabel) {
      out += line + "\n";
      line = "+ " + word;
    } else {
      line += line.empty() ? word : " + " + word;
    }
  }
  return out + line;
}

bool is_op(const Node& node) {
  return !std::holds_alternative<Param>(node.kind) && !std::holds_alternative<Constant>(node.kind);
}

class DrawingMaker {
 public:
  explicit DrawingMaker(const IRModule& module) : module_(module) {}

  Drawing run();

 private:
  /// Maps each value of a function to the drawn node that computes it; kNoNode for constants.
  struct Values {
    explicit Values(const Function& function) {
      first.reserve(function.nodes.size());
      size_t slots = 0;
      for (const Node& node : function.nodes) {
        first.push_back(slots);
        slots += node.types.size();
      }
      maker.assign(slots, kNoNode);
    }
    size_t& operator[](ValueId v) { return maker[first[v.node] + v.output]; }
    std::vector<size_t> first, maker;
  };
  static constexpr size_t kNoNode = SIZE_MAX;

  size_t add(Drawn node) {
    drawing_.nodes.push_back(std::move(node));
    return drawing_.nodes.size() - 1;
  }

  void connect(size_t from, size_t to, const TensorType& type) {
    if (from != kNoNode && from != to) drawing_.edges.push_back({from, to, cat(type)});
  }

  /// Appends the ops of a call, in order, and the user's names for them.
  void describe(const Function& function, uint32_t node, std::vector<std::string>& ops,
                std::vector<DrawnOp>& named) const {
    const Node& n = function.nodes[node];
    if (auto* call = std::get_if<Call>(&n.kind)) {
      ops.push_back(call->op->name);
      if (!n.loc.empty()) named.push_back({call->op->name, n.loc});
      return;
    }
    if (auto* compiled = std::get_if<Extern>(&n.kind)) return ops.push_back(compiled->symbol.str());
    if (auto* control = std::get_if<Control>(&n.kind))
      return ops.push_back(control->action == Control::kIf ? "if" : "loop");
    const Function* callee = module_.find(std::get<Invoke>(n.kind).function);
    BYOC_CHECK(callee, "no function @", std::get<Invoke>(n.kind).function);
    for (const Node& inner : callee->nodes) {
      auto* call = std::get_if<Call>(&inner.kind);
      auto* invoke = std::get_if<Invoke>(&inner.kind);
      if (call) ops.push_back(call->op->name);
      if (invoke) ops.push_back(invoke->function.str());
      if (is_op(inner) && !inner.loc.empty())
        named.push_back({call ? Symbol(call->op->name) : Symbol(), inner.loc});
    }
  }

  size_t add_op(const Function& function, uint32_t node, size_t region) {
    std::vector<std::string> ops;
    std::vector<DrawnOp> named;
    describe(function, node, ops, named);
    const Node& n = function.nodes[node];
    std::string label = joined(ops), tooltip;
    for (size_t k = 0; k < n.types.size() && k < 2; ++k) label += "\n" + shape_text(*n.types[k]);
    if (n.types.size() > 2) label += cat("\n... ", n.types.size(), " outputs");
    for (size_t k = 0; k < named.size() && k < kTooltipNames; ++k)
      tooltip += cat(k ? "\n" : "", named[k].loc);
    if (named.size() > kTooltipNames)
      tooltip += cat("\nand ", named.size() - kTooltipNames, " more");
    if (size_t constants = count_constants(function, n); constants > 0)
      tooltip +=
          cat(tooltip.empty() ? "" : "\n", constants, " constant", constants == 1 ? "" : "s");
    (region == kNoRegion ? drawing_.ops_outside : drawing_.regions[region].ops) += ops.size();
    Drawn drawn{Drawn::kOp, region, label, tooltip, std::move(named), {}, {}};
    for (ValueId arg : function.args(n)) drawn.inputs.push_back(function.type(arg));
    for (size_t k = 0; k < n.types.size(); ++k) drawn.outputs.push_back(n.types[k]);
    return add(std::move(drawn));
  }

  static size_t count_constants(const Function& function, const Node& node) {
    size_t n = 0;
    for (ValueId arg : function.args(node))
      n += std::holds_alternative<Constant>(function.nodes[arg.node].kind);
    return n;
  }

  void walk_op(const Function& function, uint32_t node, size_t region, Values& values);
  void walk_region(const Function& function, uint32_t call, Values& values);

  const IRModule& module_;
  Drawing drawing_;
};

/// Returns the region that a node of the entry function calls; null for other nodes.
const Function* region_of(const IRModule& module, const Node& node) {
  auto* invoke = std::get_if<Invoke>(&node.kind);
  const Function* callee = invoke ? module.find(invoke->function) : nullptr;
  return callee != nullptr && callee->attrs.has("compiler") ? callee : nullptr;
}

void DrawingMaker::walk_op(const Function& function, uint32_t node, size_t region, Values& values) {
  const Node& n = function.nodes[node];
  size_t drawn = add_op(function, node, region);
  for (ValueId arg : function.args(n)) connect(values[arg], drawn, *function.type(arg));
  for (uint32_t k = 0; k < n.types.size(); ++k) values[{node, k}] = drawn;
}

void DrawingMaker::walk_region(const Function& function, uint32_t call, Values& values) {
  const Node& n = function.nodes[call];
  const Function& body = *region_of(module_, n);
  size_t region = drawing_.regions.size();
  drawing_.regions.push_back({body.attr("compiler"), std::get<Invoke>(n.kind).function.str()});
  BYOC_CHECK(function.args(n).size() == body.num_params() && body.results.size() == n.types.size(),
             "the call of @", std::get<Invoke>(n.kind).function, " does not fit");
  Values inside(body);
  uint32_t param = 0;
  for (ValueId arg : function.args(n)) inside[{param++, 0}] = values[arg];
  for (uint32_t node = 0; node < body.nodes.size(); ++node) {
    if (is_op(body.nodes[node])) walk_op(body, node, region, inside);
  }
  for (uint32_t k = 0; k < body.results.size(); ++k) values[{call, k}] = inside[body.results[k]];
}

Drawing DrawingMaker::run() {
  const Function& entry = module_.function(module_.entry);
  Values values(entry);
  auto end = [&](Drawn::Look look, std::string_view name, TypeId type) {
    Drawn drawn{look, kNoRegion, cat(name, "\n", shape_text(*type)), "", {}, {}, {}};
    drawn.tooltip = look == Drawn::kInput ? "input" : "output";
    (look == Drawn::kInput ? drawn.outputs : drawn.inputs).push_back(type);
    return add(std::move(drawn));
  };
  for (uint32_t node = 0; node < entry.nodes.size(); ++node) {
    const Node& n = entry.nodes[node];
    if (auto* param = std::get_if<Param>(&n.kind)) {
      values[{node, 0}] = end(Drawn::kInput, param->name.text(), n.types[0]);
    } else if (is_op(n)) {
      region_of(module_, n) ? walk_region(entry, node, values)
                            : walk_op(entry, node, kNoRegion, values);
    }
  }
  Strings names = entry.attrs.strings("output_names");
  for (size_t k = 0; k < entry.results.size(); ++k) {
    ValueId result = entry.results[k];
    TypeId type = entry.type(result);
    size_t node = end(Drawn::kOutput, k < names.size() ? names[k] : cat("output", k), type);
    connect(values[result], node, *type);
  }
  return std::move(drawing_);
}

}  // namespace

size_t drawn_nodes(const IRModule& module) {
  const Function& entry = module.function(module.entry);
  size_t nodes = entry.results.size();
  for (const Node& node : entry.nodes) {
    if (std::holds_alternative<Constant>(node.kind)) continue;
    const Function* body = region_of(module, node);
    nodes += body
                 ? static_cast<size_t>(std::count_if(body->nodes.begin(), body->nodes.end(), is_op))
                 : 1;
  }
  return nodes;
}

Drawing make_drawing(const IRModule& module) { return DrawingMaker(module).run(); }

}  // namespace byoc::driver
