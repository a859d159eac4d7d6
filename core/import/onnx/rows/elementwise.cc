// SPDX-License-Identifier: Apache-2.0
// Elementwise ops of one, two and any number of operands.
#include <cfloat>
#include <cmath>

#include "core/import/onnx/same_op.h"

namespace byoc::onnx_import {
namespace {

// Aligns b with a for opsets up to 6, where `axis` is the dim of a at which the dims of b begin.
// From opset 7 on, dims are aligned at the end.
ValueId aligned_from_axis(Graph& graph, const OnnxNode& node, ValueId a, ValueId b) {
  if (!node.has("axis")) return b;
  auto rank = static_cast<int64_t>(graph.rank(a)), own = static_cast<int64_t>(graph.rank(b));
  int64_t axis = node.i("axis", 0);
  if (axis < 0) axis += rank;
  Ints added;  // dims of extent 1 after b's own
  for (int64_t d = own; axis >= 0 && d < rank - axis; ++d) added.push_back(d);
  return added.empty() ? b : graph.call("unsqueeze", {b}, {{"axes", added}});
}

template <OpName op>
Converted by_axis(Graph& graph, const OnnxNode& node) {
  ValueId a = graph.input(0), b = graph.input(1);
  return std::vector{graph.call(op.text, {a, aligned_from_axis(graph, node, a, b)})};
}

// Converts PRelu up to opset 6, which has one slope per channel (dim 1), or a single slope.
Converted prelu_per_channel(Graph& graph, const OnnxNode&) {
  ValueId x = graph.input(0), slope = graph.input(1);
  const Shape& given = graph.type(slope).shape;
  Ints added;
  if (given.size() == 1 && given[0] != Dim(1)) {
    for (size_t d = 2; d < graph.rank(x); ++d) added.push_back(static_cast<int64_t>(d - 1));
  }
  if (!added.empty()) slope = graph.call("unsqueeze", {slope}, {{"axes", added}});
  return std::vector{graph.call("prelu", {x, slope})};
}

Converted identity(Graph& graph, const OnnxNode&) { return std::vector{graph.input(0)}; }

ValueId chain(Graph& graph, std::string_view op) {
  std::vector<ValueId> inputs = graph.inputs();
  ValueId result = inputs.empty() ? graph.input(0) : inputs[0];
  for (size_t k = 1; k < inputs.size(); ++k) result = graph.call(op, {result, inputs[k]});
  return result;
}

// Converts an op of any number of operands into a chain of binary ops.
template <OpName op>
Converted variadic(Graph& graph, const OnnxNode&) {
  return std::vector{chain(graph, op.text)};
}

Converted mean_of_operands(Graph& graph, const OnnxNode&) {
  ValueId total = chain(graph, "add");
  ValueId number =
      graph.scalar(graph.type(total).dtype, static_cast<double>(graph.inputs().size()));
  return std::vector{graph.call("divide", {total, number})};
}

// Converts Selu before opset 6, where its two constants were rounded to five digits.
Converted selu_rounded(Graph& graph, const OnnxNode& node) {
  Attrs attrs{{"alpha", node.f("alpha", 1.6732)}, {"gamma", node.f("gamma", 1.0507)}};
  return std::vector{graph.call("selu", {graph.input(0)}, attrs)};
}

Converted clip_by_attributes(Graph& graph, const OnnxNode& node) {
  Attrs attrs;  // ONNX's defaults are the ends of f32's range and have no effect
  if (node.has("min") && node.f("min", 0) > -FLT_MAX) attrs.set("min", node.f("min", 0));
  if (node.has("max") && node.f("max", 0) < FLT_MAX) attrs.set("max", node.f("max", 0));
  return std::vector{graph.call("clip", {graph.input(0)}, attrs)};
}

// Returns the bound as a number when it is a constant that an f64 holds exactly.
std::optional<double> known_bound(Graph& graph, ValueId bound) {
  if (auto ints = graph.const_ints(bound); ints && ints->size() == 1) {
    bool is_exact = std::abs(static_cast<double>((*ints)[0])) < 0x1p53;
    return is_exact ? std::optional<double>((*ints)[0]) : std::nullopt;
  }
  auto floats = graph.const_floats(bound);
  bool is_number = floats && floats->size() == 1 && !std::isnan((*floats)[0]);
  return is_number ? std::optional<double>((*floats)[0]) : std::nullopt;
}

// Turns known bounds into attributes, and bounds computed at run time into maximum or minimum.
Converted clip(Graph& graph, const OnnxNode&) {
  Value low = graph.optional_input(1), high = graph.optional_input(2);
  Attrs attrs;
  auto known_low = low ? known_bound(graph, *low) : std::nullopt;
  auto known_high = high ? known_bound(graph, *high) : std::nullopt;
  if (low && !known_low) {
    ValueId raised = graph.call("maximum", {graph.input(0), *low});
    return std::vector{high ? graph.call("minimum", {raised, *high}) : raised};
  }
  if (known_low) attrs.set("min", *known_low);
  if (known_high) attrs.set("max", *known_high);
  ValueId clipped = graph.call("clip", {graph.input(0)}, attrs);
  return std::vector{high && !known_high ? graph.call("minimum", {clipped, *high}) : clipped};
}

Converted bit_shift(Graph& graph, const OnnxNode& node) {
  std::string direction = node.s("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    return invalid(cat("its direction is \"", direction, "\", expected \"LEFT\" or \"RIGHT\""));
  Attrs attrs{{"direction", direction == "LEFT" ? "left" : "right"}};
  return std::vector{graph.call("bit_shift", {graph.input(0), graph.input(1)}, attrs)};
}

Converted swiglu(Graph& graph, const OnnxNode& node) {
  if (graph.type(graph.input(0)).shape != graph.type(graph.input(1)).shape)
    return invalid(cat("its inputs must have one shape, they are ", graph.type(graph.input(0)),
                       " and ", graph.type(graph.input(1))));
  ValueId gate = graph.call("swish", {graph.input(0)}, {{"alpha", node.f("alpha", 1)}});
  return std::vector{graph.call("multiply", {gate, graph.input(1)})};
}

constexpr Row kElementwiseRows[] = {
    {"Abs", 1, kNewest, renamed<"abs">},
    {"Acos", 7, kNewest, renamed<"acos">},
    {"Acosh", 9, kNewest, renamed<"acosh">},
    {"Add", 1, 6, by_axis<"add">},
    {"Add", 7, kNewest, renamed<"add">},
    {"And", 1, 6, by_axis<"logical_and">},
    {"And", 7, kNewest, renamed<"logical_and">},
    {"Asin", 7, kNewest, renamed<"asin">},
    {"Asinh", 9, kNewest, renamed<"asinh">},
    {"Atan", 7, kNewest, renamed<"atan">},
    {"Atanh", 9, kNewest, renamed<"atanh">},
    {"BitShift", 11, kNewest, bit_shift},
    {"BitwiseAnd", 18, kNewest, renamed<"bitwise_and">},
    {"BitwiseNot", 18, kNewest, renamed<"bitwise_not">},
    {"BitwiseOr", 18, kNewest, renamed<"bitwise_or">},
    {"BitwiseXor", 18, kNewest, renamed<"bitwise_xor">},
    {"Ceil", 1, kNewest, renamed<"ceil">},
    {"Celu", 12, kNewest, renamed<"celu">},
    {"Clip", 1, 10, clip_by_attributes},
    {"Clip", 11, kNewest, clip},
    {"Cos", 7, kNewest, renamed<"cos">},
    {"Cosh", 9, kNewest, renamed<"cosh">},
    {"Div", 1, 6, by_axis<"divide">},
    {"Div", 7, kNewest, renamed<"divide">},
    {"Elu", 1, kNewest, renamed<"elu">},
    {"Equal", 1, 6, by_axis<"equal">},
    {"Equal", 7, kNewest, renamed<"equal">},
    {"Erf", 9, kNewest, renamed<"erf">},
    {"Exp", 1, kNewest, renamed<"exp">},
    {"Floor", 1, kNewest, renamed<"floor">},
    {"Gelu", 20, kNewest, renamed<"gelu">},
    {"Greater", 1, 6, by_axis<"greater">},
    {"Greater", 7, kNewest, renamed<"greater">},
    {"GreaterOrEqual", 12, kNewest, renamed<"greater_equal">},
    {"HardSigmoid", 1, kNewest, renamed<"hard_sigmoid">},
    {"HardSwish", 14, kNewest, renamed<"hard_swish">},
    {"Identity", 1, kNewest, identity},
    {"IsInf", 10, kNewest, renamed<"is_inf">},
    {"IsNaN", 9, kNewest, renamed<"is_nan">},
    {"LeakyRelu", 1, kNewest, renamed<"leaky_relu">},
    {"Less", 1, 6, by_axis<"less">},
    {"Less", 7, kNewest, renamed<"less">},
    {"LessOrEqual", 12, kNewest, renamed<"less_equal">},
    {"Log", 1, kNewest, renamed<"log">},
    {"Max", 1, kNewest, variadic<"maximum">},
    {"Mean", 1, kNewest, mean_of_operands},
    {"Min", 1, kNewest, variadic<"minimum">},
    {"Mish", 18, kNewest, renamed<"mish">},
    {"Mod", 10, kNewest, renamed<"mod">},
    {"Mul", 1, 6, by_axis<"multiply">},
    {"Mul", 7, kNewest, renamed<"multiply">},
    {"Neg", 1, kNewest, renamed<"negative">},
    {"Not", 1, kNewest, renamed<"logical_not">},
    {"Or", 1, 6, by_axis<"logical_or">},
    {"Or", 7, kNewest, renamed<"logical_or">},
    {"PRelu", 1, 6, prelu_per_channel},
    {"PRelu", 7, kNewest, renamed<"prelu">},
    {"Pow", 1, 6, by_axis<"power">},
    {"Pow", 7, kNewest, renamed<"power">},
    {"Reciprocal", 1, kNewest, renamed<"reciprocal">},
    {"Relu", 1, kNewest, renamed<"relu">},
    {"Round", 11, kNewest, renamed<"round">},
    {"Selu", 1, 5, selu_rounded},
    {"Selu", 6, kNewest, renamed<"selu">},
    {"Shrink", 9, kNewest, renamed<"shrink">},
    {"Sigmoid", 1, kNewest, renamed<"sigmoid">},
    {"Sign", 9, kNewest, renamed<"sign">},
    {"Sin", 7, kNewest, renamed<"sin">},
    {"Sinh", 9, kNewest, renamed<"sinh">},
    {"Softplus", 1, kNewest, renamed<"softplus">},
    {"Softsign", 1, kNewest, renamed<"softsign">},
    {"Sqrt", 1, kNewest, renamed<"sqrt">},
    {"Sub", 1, 6, by_axis<"subtract">},
    {"Sub", 7, kNewest, renamed<"subtract">},
    {"Sum", 1, kNewest, variadic<"add">},
    {"SwiGLU", 28, kNewest, swiglu},
    {"Swish", 24, kNewest, renamed<"swish">},
    {"Tan", 7, kNewest, renamed<"tan">},
    {"Tanh", 1, kNewest, renamed<"tanh">},
    {"ThresholdedRelu", 10, kNewest, renamed<"thresholded_relu">},
    {"Where", 9, kNewest, renamed<"where">},
    {"Xor", 1, 6, by_axis<"logical_xor">},
    {"Xor", 7, kNewest, renamed<"logical_xor">},
};

}  // namespace

std::span<const Row> elementwise_rows() { return kElementwiseRows; }

}  // namespace byoc::onnx_import
