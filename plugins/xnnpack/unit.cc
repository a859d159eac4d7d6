// SPDX-License-Identifier: Apache-2.0
#include "unit.h"

#include <algorithm>
#include <cmath>

namespace byoc::xnnpack {
namespace {

using sdk::Body;
using sdk::Declined;
using sdk::Graph;
using sdk::Node;
using sdk::Operand;
using sdk::Type;

/// A node as it is read: the op that counts, its operands as arguments of the node, and the ops of
/// the composite that follow it.
struct Source {
  const Node* op = nullptr;
  std::vector<uint32_t> args;
  std::vector<const Type*> types;
  const Type* result = nullptr;
  std::vector<const Node*> after;
};

Source source_of(const Graph& graph, const Node& node) {
  Source out;
  const Body* body = graph.callee(node);
  out.op = body ? body->captured("anchor") : &node;
  if (out.op == nullptr) throw Declined("no pattern \"" + body->pattern + "\" is known");
  out.result = &graph.type(*out.op);
  for (uint32_t k = 0; k < out.op->args.size(); ++k) {
    const Operand& operand = out.op->args[k];
    if (body && operand.kind != Operand::kInput)
      throw Declined("the anchor of a composite reads an op of it");
    out.args.push_back(body ? operand.index : k);
    out.types.push_back(body ? &graph.type(*body, operand) : &graph.type(operand));
  }
  for (size_t k = 0; body && k < body->nodes.size(); ++k) {
    if (&body->nodes[k] != out.op) out.after.push_back(&body->nodes[k]);
  }
  return out;
}

void check_type(const Type& type) {
  if (!type.is_static()) throw Declined("needs shapes that are numbers, has " + type.text());
  if (type.dtype != sdk::DType::kF32)
    throw Declined("this plugin computes in f32, not in " + type.text());
  if (type.elements() == 0) throw Declined("XNNPACK has no tensors without elements");
}

void expect_image(const Source& source) {
  if (source.types[0]->rank() != 4)
    throw Declined("XNNPACK has images of two dims, not " + source.types[0]->text());
}

void read_anchor_product(Unit& unit, const Source& source) {
  const Node& op = *source.op;
  const Type &x = *source.types[0], &w = *source.types[1];
  refuse_unknown(op, {"trans_a", "trans_b", "alpha"});
  if (op.attrs.b("trans_a", false)) throw Declined("XNNPACK reads no transposed rows");
  if (op.attrs.f("alpha", 1) != 1) throw Declined("XNNPACK has no factor of a product");
  if (w.rank() != 2 || x.rank() == 0) throw Declined("XNNPACK has products by one matrix");
  unit.product = {x.elements() / x.dims.back(), x.dims.back(), source.result->dims.back(),
                  op.attrs.b("trans_b", false)};
}

void read_anchor(Unit& unit, const Source& source) {
  const std::string& op = source.op->op;
  const Type& x = *source.types[0];
  unit.args = {source.args[0]};
  if (op == "conv2d") {
    unit.kind = Unit::kConvolution;
    unit.weight = source.args[1];
    expect_image(source);
    unit.window = read_convolution(*source.op, x, *source.types[1], *source.result);
  } else if (op == "matmul" || op == "gemm") {
    unit.kind = Unit::kProduct;
    unit.weight = source.args[1];
    read_anchor_product(unit, source);
  } else if (op == "max_pool" || op == "average_pool") {
    unit.kind = op == "max_pool" ? Unit::kMaxPool : Unit::kAveragePool;
    expect_image(source);
    unit.window = read_pool(*source.op, x, *source.result);
  } else if (op == "global_average_pool") {
    unit.kind = Unit::kGlobalAverage;
    refuse_unknown(*source.op, {});
    expect_image(source);
    unit.window = {
        .n = x.dims[0], .c = x.dims[1], .h = x.dims[2], .w = x.dims[3], .out_c = x.dims[1]};
  } else if (op == "softmax") {
    unit.kind = Unit::kSoftmax;
    refuse_unknown(*source.op, {"axis"});
    const int64_t axis = source.op->attrs.i("axis", -1), rank = static_cast<int64_t>(x.rank());
    if (axis != -1 && axis != rank - 1)
      throw Declined("XNNPACK has softmax of the last axis alone");
    unit.channels = x.dims.back();
  } else if (op == "add" || op == "subtract" || op == "multiply") {
    unit.kind = Unit::kBinary;
    refuse_unknown(*source.op, {});
    if (source.result->rank() > 6) throw Declined("XNNPACK has at most six dims");
    unit.args = {source.args[0], source.args[1]};
  } else {
    refuse_unknown(*source.op, {"alpha", "min", "max"});
  }
}

void set_bounds(Unit& unit, const Node& op) {
  if (op.op == "relu") {
    refuse_unknown(op, {});
    unit.low = 0;
  } else {
    refuse_unknown(op, {"min", "max"});
    unit.low = static_cast<float>(op.attrs.f("min", -kInfinity));
    unit.high = static_cast<float>(op.attrs.f("max", kInfinity));
  }
  if (!(unit.low < unit.high)) throw Declined("XNNPACK needs a lower bound below the upper one");
}

void read_unary(Unit& unit) {
  const Node& op = *unit.op;
  if (unit.name == "relu" || unit.name == "clip") {
    set_bounds(unit, op);
  } else if (unit.name == "leaky_relu" || unit.name == "elu") {
    refuse_unknown(op, {"alpha"});
    unit.parameter = static_cast<float>(op.attrs.f("alpha", unit.name == "elu" ? 1 : 0.01));
    if (!std::isnormal(unit.parameter) || unit.parameter < 0 || unit.parameter > 1e6F)
      throw Declined("XNNPACK needs an alpha above 0");
  } else {
    refuse_unknown(op, {});
  }
}

/// Returns whether a bias is one number per channel of the result, and nothing else.
bool is_per_channel(const Type& bias, const Type& result, size_t axis) {
  const size_t missing = result.rank() - std::min(bias.rank(), result.rank());
  if (bias.rank() > result.rank() || bias.elements() != result.dims[axis]) return false;
  if (bias.elements() == 1) return true;
  return axis >= missing && bias.dims[axis - missing] == result.dims[axis];
}

void add_bias(Unit& unit, const Graph& graph, const Node& node, const Node& add,
              const Source& source) {
  refuse_unknown(add, {});
  if (unit.kind != Unit::kConvolution && unit.kind != Unit::kProduct)
    throw Declined("XNNPACK has no " + unit.name + " with a bias");
  const size_t axis = unit.kind == Unit::kConvolution ? 1 : source.result->rank() - 1;
  for (const Operand& operand : add.args) {
    if (operand.kind != Operand::kInput) continue;
    unit.bias = operand.index;
    if (!is_per_channel(graph.type(node.args[operand.index]), *source.result, axis))
      throw Declined("XNNPACK has one number of a bias per channel");
  }
}

void check_constants(const Graph& graph, const Node& node, const Unit& unit) {
  for (int64_t arg : {unit.weight, unit.bias}) {
    if (arg < 0) continue;
    const Operand& operand = node.args[static_cast<size_t>(arg)];
    if (operand.kind != Operand::kConstant)
      throw Declined("XNNPACK needs weights and bias when it is compiled");
    check_type(graph.type(operand));
  }
}

}  // namespace

void refuse_unknown(const Node& node, std::initializer_list<std::string_view> known) {
  std::string_view unknown = node.attrs.unknown(known);
  if (!unknown.empty())
    throw Declined("no attribute \"" + std::string(unknown) + "\" of " + node.op + " is known");
  if (node.version != 1)
    throw Declined(node.op + " of version " + std::to_string(node.version) + " is not known");
}

Unit read_unit(const Graph& graph, const Node& node) {
  const Source source = source_of(graph, node);
  for (const Type* type : source.types) check_type(*type);
  check_type(*source.result);
  Unit unit;
  unit.op = source.op;
  unit.name = source.op->op;
  read_anchor(unit, source);
  if (unit.kind == Unit::kUnary) read_unary(unit);
  for (const Node* after : source.after) {
    if (after->op == "add") {
      add_bias(unit, graph, node, *after, source);
    } else if (after->op == "relu" || after->op == "clip") {
      set_bounds(unit, *after);
    } else {
      throw Declined("XNNPACK has no " + unit.name + " followed by " + after->op);
    }
    if (graph.type(*after).dims != source.result->dims)
      throw Declined("the bias has more dims than the result");
  }
  check_constants(graph, node, unit);
  return unit;
}

}  // namespace byoc::xnnpack
