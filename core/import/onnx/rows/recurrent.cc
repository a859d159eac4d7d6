// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU, RNN with their default activations.
#include <algorithm>

#include "core/import/onnx/convert.h"

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

// Refuses sequence lengths, except constant ones that are all equal to the length of x.
Status refuse_lengths(Graph& graph, const OnnxNode& node, Dim time) {
  if (!node.has_input(4)) return {};
  auto lengths = graph.const_ints(graph.input(4));
  bool all = lengths && time.is_static() &&
             std::all_of(lengths->begin(), lengths->end(),
                         [&](int64_t length) { return length == time.extent(); });
  return all ? Status()
             : unimplemented(
                   "sequence_lens is not supported, all sequences must have the full length");
}

ValueId transposed(Graph& graph, ValueId value, const Ints& perm) {
  return graph.call("transpose", {value}, {{"perm", perm}});
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

Converted recurrent(Graph& graph, const OnnxNode& node, const Kind& kind) {
  BYOC_TRY_STATUS(refuse_variants(node, kind));
  bool batch_first = node.i("layout", 0) != 0;
  BYOC_TRY(std::vector<ValueId> operands, operands_of(graph, node, kind, batch_first));
  BYOC_TRY_STATUS(refuse_lengths(graph, node, graph.type(operands[0]).shape[0]));
  Attrs attrs{{"direction", node.s("direction", "forward")}};
  if (std::string(kind.op) == "gru")
    attrs.set("linear_before_reset", node.i("linear_before_reset", 0) != 0);
  ValueId y = graph.call(kind.op, operands, attrs);
  std::vector<ValueId> outputs = {y, {y.node, 1}, {y.node, 2}};
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
