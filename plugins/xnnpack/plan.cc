// SPDX-License-Identifier: Apache-2.0
#include "plan.h"

#include <algorithm>

namespace byoc::xnnpack {
namespace {

using sdk::Graph;
using sdk::Operand;

constexpr Piece kNone = UINT32_MAX;
constexpr uint64_t kExtraBytes =
    64;  // XNNPACK reads up to 16 bytes after an operand (XNN_EXTRA_BYTES)

/// A tensor of the graph and where it is. XNNPACK reads `plain` and `image` alone.
struct Value {
  const sdk::Type* type = nullptr;
  Piece source = kNone;  // the host's memory
  Piece plain = kNone, image = kNone;
  bool is_read = false;
  uint32_t output = kNone;  // the first one that it is
};

class Planner {
 public:
  explicit Planner(sdk::Function& function) : function_(function), graph_(function.graph) {
    add_values();
    for (uint32_t n = 0; n < graph_.nodes.size(); ++n) add_node(n);
    for (uint32_t k = 0; k < graph_.outputs.size(); ++k) add_output(k);
    plan_.memory.place();
    plan_.values = static_cast<uint32_t>(values_.size());
  }
  Plan take() { return std::move(plan_); }

 private:
  uint32_t id(const Operand& operand) const {
    const auto inputs = static_cast<uint32_t>(graph_.inputs.size());
    const auto constants = static_cast<uint32_t>(graph_.constants.size());
    if (operand.kind == Operand::kInput) return operand.index;
    return operand.kind == Operand::kConstant ? inputs + operand.index
                                              : inputs + constants + operand.index;
  }
  void add_values() {
    for (uint32_t k = 0; k < graph_.inputs.size(); ++k)
      values_.push_back({&graph_.input_type(k), plan_.memory.input(k)});
    for (const sdk::Constant& constant : graph_.constants)
      values_.push_back({&graph_.types[constant.type]});
    for (const sdk::Node& node : graph_.nodes) {
      values_.push_back({&graph_.type(node)});
      for (const Operand& operand : node.args) values_[id(operand)].is_read = true;
    }
    for (uint32_t k = 0; k < graph_.outputs.size(); ++k) {
      Value& value = values_[id(graph_.outputs[k])];
      value.is_read |= value.output != kNone;  // a second output is copied from somewhere
      value.output = std::min(value.output, k);
    }
  }
  /// Returns the extents of a value as an image; dims that are missing in front are 1.
  static std::vector<int64_t> image_dims(const sdk::Type& type) {
    std::vector<int64_t> dims(4 - std::min<size_t>(type.rank(), 4), 1);
    dims.insert(dims.end(), type.dims.begin(), type.dims.end());
    return dims;
  }
  static uint64_t bytes_of(const Value& value) {
    return static_cast<uint64_t>(value.type->bytes()) + kExtraBytes;
  }
  Piece source_of(uint32_t v) {
    Value& value = values_[v];
    const auto inputs = static_cast<uint32_t>(graph_.inputs.size());
    if (value.source == kNone)  // a constant
      value.source = plan_.memory.constant(function_.constants.keep(v - inputs));
    return value.source;
  }
  void push(Step step) {
    const auto at = static_cast<uint32_t>(plan_.steps.size());
    for (Piece piece : {step.a, step.b, step.y}) plan_.memory.touch(piece, at);
    plan_.steps.push_back(std::move(step));
  }
  /// Appends a copy of a value; `from` and `to` differ in layout unless it is a kCopy.
  void copy(Step::Kind kind, uint32_t v, Piece from, Piece to, int64_t node) {
    const sdk::Type& type = *values_[v].type;
    Step step{
        .kind = kind, .a = from, .b = from, .y = to, .value_a = v, .value_b = v, .value_y = v};
    step.elements = static_cast<uint64_t>(type.elements());
    if (kind != Step::kCopy) {
      const std::vector<int64_t> dims = image_dims(type);
      step.images = dims[0], step.channels = dims[1], step.pixels = dims[2] * dims[3];
    }
    step.sets_range = values_[v].source == from && values_[v].is_read;
    step.node = node;
    push(std::move(step));
  }
  Piece plain(uint32_t v, int64_t node) {
    Value& value = values_[v];
    if (value.plain != kNone) return value.plain;
    value.plain = plan_.memory.scratch(bytes_of(value));
    if (value.image != kNone) copy(Step::kToPlain, v, value.image, value.plain, node);
    else copy(Step::kCopy, v, source_of(v), value.plain, node);
    return value.plain;
  }
  static bool is_same_in_both(const sdk::Type& type) {
    const std::vector<int64_t> dims = image_dims(type);
    return dims[1] == 1 || dims[2] * dims[3] == 1;
  }
  Piece image(uint32_t v, int64_t node) {
    Value& value = values_[v];
    if (value.image != kNone) return value.image;
    if (is_same_in_both(*value.type)) return value.image = plain(v, node);
    value.image = plan_.memory.scratch(bytes_of(value));
    copy(Step::kToImage, v, value.plain != kNone ? value.plain : source_of(v), value.image, node);
    return value.image;
  }

  /// True when an elementwise op computes with channels last: an operand has them so.
  bool keeps_image(const Unit& unit, const sdk::Node& node) const {
    bool found = false;
    for (uint32_t arg : unit.args) {
      const Value& value = values_[id(node.args[arg])];
      if (value.type->rank() > 4) return false;
      found |= value.image != kNone && !is_same_in_both(*value.type);
    }
    return found && graph_.type(node).rank() == 4;
  }
  static std::vector<int64_t> channels_last(const sdk::Type& type) {
    const std::vector<int64_t> d = image_dims(type);
    return {d[0], d[2], d[3], d[1]};
  }
  const float* constant(const sdk::Node& node, int64_t arg) {
    if (arg < 0) return nullptr;
    const Operand& operand = node.args[static_cast<size_t>(arg)];
    plan_.held.push_back(function_.constants.keep(operand.index));
    plan_.packed_bytes += static_cast<uint64_t>(graph_.type(operand).bytes());
    return plan_.held.back().data<float>();
  }
  void set_operator(Step& step, const sdk::Node& node) {
    step.operands.weight = constant(node, step.unit.weight);
    step.operands.bias = constant(node, step.unit.bias);
    step.op = make_operator(step.unit, step.operands.weight, step.operands.bias, step.elements);
    step.largest = largest_operand(step.unit, step.operands.weight, step.operands.bias);
  }
  void add_node(uint32_t n) {
    const sdk::Node& node = graph_.nodes[n];
    Step step;
    step.unit = read_unit(graph_, node);
    const Unit& unit = step.unit;
    const bool elementwise = unit.kind == Unit::kUnary || unit.kind == Unit::kBinary;
    const bool as_image = unit.is_image() || (elementwise && keeps_image(unit, node));
    step.value_a = id(node.args[unit.args.front()]);
    step.value_b = id(node.args[unit.args.back()]);
    step.a = as_image ? image(step.value_a, n) : plain(step.value_a, n);
    step.b = as_image ? image(step.value_b, n) : plain(step.value_b, n);
    step.value_y = id({Operand::kNode, n, 0});
    step.node = n;
    Value& value = values_[step.value_y];
    step.elements = static_cast<uint64_t>(value.type->elements());
    step.sets_range = value.is_read;
    if (unit.kind == Unit::kBinary) {
      auto dims = [&](const sdk::Type& type) { return as_image ? channels_last(type) : type.dims; };
      step.operands.a_dims = dims(*values_[step.value_a].type);
      step.operands.b_dims = dims(*values_[step.value_b].type);
      step.operands.y_dims = dims(*value.type);
    }
    step.y = result(value, as_image);
    set_operator(step, node);
    push(std::move(step));
  }
  /// Gives a result its memory; that of the output when it is nothing else.
  Piece result(Value& value, bool as_image) {
    const bool is_plain = !as_image || is_same_in_both(*value.type);
    const Piece piece = is_plain && value.output != kNone && !value.is_read
                            ? plan_.memory.output(value.output)
                            : plan_.memory.scratch(bytes_of(value));
    if (is_plain) value.plain = piece;
    if (as_image) value.image = piece;
    return piece;
  }
  void add_output(uint32_t k) {
    const uint32_t v = id(graph_.outputs[k]);
    const Value& value = values_[v];
    const bool is_result = graph_.outputs[k].kind == Operand::kNode;
    if (is_result && !value.is_read && value.plain != kNone) return;  // written by its step
    const Piece to = plan_.memory.output(k);
    if (value.plain != kNone) copy(Step::kCopy, v, value.plain, to, -1);
    else if (value.image != kNone) copy(Step::kToPlain, v, value.image, to, -1);
    else copy(Step::kCopy, v, source_of(v), to, -1);
  }

  sdk::Function& function_;
  const Graph& graph_;
  Plan plan_;
  std::vector<Value> values_;
};

}  // namespace

Plan make_plan(sdk::Function& function) { return Planner(function).take(); }

}  // namespace byoc::xnnpack
