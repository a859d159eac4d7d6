// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU, RNN with their default activations. Sequences that are shorter than x run over all steps,
// and their results are masked.
#include <algorithm>

#include "core/import/onnx/rows/steps.h"

namespace byoc::onnx_import {
namespace {

struct Kind {
  const char* op;
  std::vector<std::string> activations;  // the defaults of one direction
  int64_t gates;
  size_t operands;  // of the op: w, r, b and those after them
};

bool equal_ignoring_case(const std::string& a, const std::string& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return (x | 0x20) == (y | 0x20); });
}

Status refuse_variants(const OnnxNode& node, const Kind& kind) {
  Strings activations = node.strings("activations");
  for (size_t k = 0; k < activations.size(); ++k) {
    if (equal_ignoring_case(activations[k], kind.activations[k % kind.activations.size()]))
      continue;
    return unimplemented(
        cat("activation \"", activations[k], "\" is not supported, only the default ones are"));
  }
  if (node.has("clip")) return unimplemented("clip is not supported");
  if (node.i("input_forget", 0) != 0) return unimplemented("input_forget is not supported");
  return {};
}

// Returns the lengths of the sequences; empty when all have the length of x.
Value short_lengths(Graph& graph, const OnnxNode& node, Dim time) {
  if (!node.has_input(4)) return {};
  auto lengths = graph.const_ints(graph.input(4));
  bool all = lengths && time.is_static() &&
             std::all_of(lengths->begin(), lengths->end(),
                         [&](int64_t length) { return length == time.extent(); });
  if (all) return {};
  return cast_to(graph, graph.input(4), DType::kI64);
}

// Adds zeros in place of an omitted operand that comes before a given one.
Result<ValueId> zeros(Graph& graph, const Shape& shape, DType dtype) {
  if (!is_static(shape))
    return unimplemented(cat("an omitted operand of shape ", shape, " needs known sizes"));
  return graph.call("expand", {graph.scalar(dtype, 0)}, {{"shape", static_extents(shape)}});
}

// Returns x, w, r, b, initial_h, initial_c, p in the op's layout, without omitted ones at the end.
// Input 4 of ONNX is sequence_lens, which is not an operand of the op.
Result<std::vector<ValueId>> operands_of(Graph& graph, const OnnxNode& node, const Kind& kind,
                                         bool batch_first) {
  ValueId x = graph.input(0), r = graph.input(2);
  if (graph.rank(x) != 3 || graph.rank(r) != 3)
    return invalid(
        cat("X and R must have rank 3, they are ", graph.type(x), " and ", graph.type(r)));
  if (batch_first) x = transposed(graph, x, {1, 0, 2});
  Dim directions = graph.type(r).shape[0], hidden = graph.type(r).shape[2],
      batch = graph.type(x).shape[1];
  if (!hidden.is_static()) return unimplemented("the shape of R must be known");
  if (hidden.extent() > int64_t{1} << 40) return invalid(cat("R is ", graph.type(r)));
  size_t given = 3;
  for (size_t k = 3; k < kind.operands; ++k) {
    if (node.has_input(k == 3 ? 3 : k + 1)) given = k + 1;
  }
  std::vector<ValueId> operands = {x, graph.input(1), r};
  for (size_t k = 3; k < given; ++k) {
    size_t source = k == 3 ? 3 : k + 1;
    bool is_state = k == 4 || k == 5;
    if (node.has_input(source)) {
      ValueId operand = graph.input(source);
      operands.push_back(is_state && batch_first ? transposed(graph, operand, {1, 0, 2}) : operand);
      continue;
    }
    Shape shape = is_state ? Shape{directions, batch, hidden}
                           : Shape{directions, 2 * kind.gates * hidden.extent()};
    BYOC_TRY(ValueId zero, zeros(graph, shape, graph.type(x).dtype));
    operands.push_back(zero);
  }
  return operands;
}

// ---- sequences of different lengths: y is zero after the end, and the last state is that of the end

// Turns every sequence around, in place: x is [time, n, ...].
ValueId turned(Graph& graph, ValueId x, ValueId lengths) {
  ValueId at_least_1 = graph.call("maximum", {lengths, graph.constant_ints({1})});
  return graph.call("reverse_sequence", {x, at_least_1});
}

struct Sequences {
  ValueId lengths;
  int64_t time, batch, hidden;
};

// Returns y [time, n, hidden] of one direction, masked, and its state at the end of each sequence
// [1, n, hidden]; that is the state before x for sequences without elements.
std::pair<ValueId, ValueId> masked(Graph& graph, const Sequences& of, ValueId y, Value first) {
  const DType dtype = graph.type(y).dtype;
  ValueId length = reshaped(graph, of.lengths, {1, -1, 1});
  ValueId steps = graph.call("reshape", {counted(graph, of.time)}, {{"shape", Ints{-1, 1, 1}}});
  ValueId inside = graph.call("less", {steps, length}), none = graph.scalar(dtype, 0);
  ValueId last = graph.call("maximum", {graph.call("subtract", {length, graph.constant_ints({1})}),
                                        graph.constant_ints({0})});
  last = expanded(graph, last, {1, of.batch, of.hidden});
  ValueId state = graph.call("gather_elements", {y, last}, {{"axis", 0}});
  ValueId is_empty = graph.call("equal", {length, graph.constant_ints({0})});
  state = graph.call("where", {is_empty, first ? *first : none, state});
  return {graph.call("where", {inside, y, none}), state};
}

// Runs the directions one by one, those from the end on turned sequences.
Converted with_lengths(Graph& graph, const OnnxNode& node, const Kind& kind,
                       const std::vector<ValueId>& operands, Attrs attrs, ValueId lengths) {
  if (node.has_output(2))
    return unimplemented(
        "Y_c with sequence_lens is not supported, the state of the cells at the end of each "
        "sequence");
  const TensorType x = graph.type(operands[0]), r = graph.type(operands[2]);
  if (!is_static(x.shape) || x.shape[0] == Dim(0) || graph.rank(lengths) != 1)
    return unimplemented(
        cat("sequence_lens needs a known shape of X that is not empty, it is ", x));
  Sequences of{lengths, x.shape[0].extent(), x.shape[1].extent(), r.shape[2].extent()};
  const std::string direction = node.s("direction", "forward");
  const int64_t directions = direction == "bidirectional" ? 2 : 1;
  attrs.set("direction", "forward");
  std::vector<ValueId> all_y, all_states;
  for (int64_t d = 0; d < directions; ++d) {
    const bool from_end = direction == "reverse" || d == 1;
    std::vector<ValueId> own = {from_end ? turned(graph, operands[0], lengths) : operands[0]};
    for (size_t k = 1; k < operands.size(); ++k)
      own.push_back(directions == 1 ? operands[k] : sliced(graph, operands[k], 0, d, d + 1));
    ValueId y = graph.call("squeeze", {graph.call(kind.op, own, attrs)}, {{"axes", Ints{1}}});
    auto [seen, state] = masked(graph, of, y, own.size() > 4 ? Value(own[4]) : std::nullopt);
    all_y.push_back(unsqueezed(graph, from_end ? turned(graph, seen, lengths) : seen, {1}));
    all_states.push_back(state);
  }
  if (directions == 1) return std::vector{all_y[0], all_states[0]};
  return std::vector{concatenated(graph, all_y, 1), concatenated(graph, all_states, 0)};
}

Converted recurrent(Graph& graph, const OnnxNode& node, const Kind& kind) {
  BYOC_TRY_STATUS(refuse_variants(node, kind));
  bool batch_first = node.i("layout", 0) != 0;
  BYOC_TRY(std::vector<ValueId> operands, operands_of(graph, node, kind, batch_first));
  Attrs attrs{{"direction", node.s("direction", "forward")}};
  if (std::string(kind.op) == "gru")
    attrs.set("linear_before_reset", node.i("linear_before_reset", 0) != 0);
  std::vector<ValueId> outputs;
  if (Value lengths = short_lengths(graph, node, graph.type(operands[0]).shape[0])) {
    BYOC_TRY(outputs, with_lengths(graph, node, kind, operands, attrs, *lengths));
  } else {
    ValueId y = graph.call(kind.op, operands, attrs);
    outputs = {y, {y.node, 1}, {y.node, 2}};
  }
  outputs.resize(std::min<size_t>(node.num_outputs(), outputs.size()));
  for (size_t k = 0; k < outputs.size() && batch_first; ++k) {
    outputs[k] = transposed(graph, outputs[k], k == 0 ? Ints{2, 0, 1, 3} : Ints{1, 0, 2});
  }
  return outputs;
}

Converted lstm(Graph& graph, const OnnxNode& node) {
  return recurrent(graph, node, {"lstm", {"Sigmoid", "Tanh", "Tanh"}, 4, 7});
}
Converted gru(Graph& graph, const OnnxNode& node) {
  return recurrent(graph, node, {"gru", {"Sigmoid", "Tanh"}, 3, 5});
}
Converted rnn(Graph& graph, const OnnxNode& node) {
  return recurrent(graph, node, {"rnn", {"Tanh"}, 1, 5});
}

constexpr Row kRows[] = {
    {"LSTM", 7, kNewest, lstm},
    {"GRU", 7, kNewest, gru},
    {"RNN", 7, kNewest, rnn},
};

}  // namespace

std::span<const Row> recurrent_rows() { return kRows; }

}  // namespace byoc::onnx_import
