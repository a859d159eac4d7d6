// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU, RNN. Source: ONNX opset 22; opset 7 has them without layout.
#include "core/import/onnx/rows/recurrent.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/import/onnx/rows/steps.h"

namespace byoc::onnx_import {
namespace {

struct Kind {
  const char* op;
  size_t functions;  // of one direction
  int64_t gates;
  size_t operands;  // of the op before the lengths: w, r, b and those after them
};

// A function of gates, with the values of alpha and beta that it has without attributes. NaN: it
// requires them.
struct Activation {
  const char* name;
  int parameters;  // 1: alpha; 2: alpha and beta
  double alpha = 0, beta = 0;
};
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr Activation kActivations[] = {{"Affine", 2, kNone, kNone},
                                       {"Elu", 1, 1},
                                       {"HardSigmoid", 2, 0.2, 0.5},
                                       {"LeakyRelu", 1, 0.01},
                                       {"Relu", 0},
                                       {"ScaledTanh", 2, kNone, kNone},
                                       {"Sigmoid", 0},
                                       {"Softplus", 0},
                                       {"Softsign", 0},
                                       {"Tanh", 0},
                                       {"ThresholdedRelu", 1, 1}};

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return (x | 0x20) == (y | 0x20); });
}

Result<Activation> find_activation(const std::string& name) {
  for (const Activation& activation : kActivations) {
    if (equal_ignoring_case(activation.name, name)) return activation;
  }
  std::string known;
  for (const Activation& activation : kActivations)
    known += cat(known.empty() ? "" : ", ", activation.name);
  return invalid(cat("activation \"", name, "\" is none of ONNX's: ", known));
}

// Sets the functions. activation_alpha and activation_beta have values for those that take one, in
// the order of the functions; those after the end of a list have their defaults.
Status set_activations(const OnnxNode& node, const Kind& kind, int64_t directions, Attrs& attrs) {
  const Strings given = node.strings("activations");
  if (given.empty()) return {};
  const size_t count = kind.functions * static_cast<size_t>(directions);
  if (given.size() != count)
    return invalid(cat("activations has ", given.size(), " names, expected ", count));
  const Floats alphas = node.floats("activation_alpha"), betas = node.floats("activation_beta");
  size_t next_alpha = 0, next_beta = 0;
  Strings names;
  Floats alpha, beta;
  for (const std::string& name : given) {
    BYOC_TRY(Activation function, find_activation(name));
    if (function.parameters >= 1 && next_alpha < alphas.size())
      function.alpha = alphas[next_alpha++];
    if (function.parameters >= 2 && next_beta < betas.size()) function.beta = betas[next_beta++];
    if (std::isnan(function.alpha) || std::isnan(function.beta))
      return invalid(cat("activation \"", name, "\" needs activation_alpha and activation_beta"));
    names.push_back(function.name);
    alpha.push_back(function.alpha);
    beta.push_back(function.beta);
  }
  attrs.set("activations", names);
  attrs.set("alpha", alpha);
  attrs.set("beta", beta);
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

// Returns x, w, r, b, initial_h, initial_c, p in the op's layout, and the lengths, without omitted
// ones at the end. Input 4 of ONNX is sequence_lens.
Result<std::vector<ValueId>> operands_of(Graph& graph, const OnnxNode& node, const Kind& kind,
                                         const Matrices& matrices, bool batch_first) {
  ValueId x = graph.input(0), r = matrices.r;
  if (graph.rank(x) != 3 || graph.rank(r) != 3)
    return invalid(
        cat("X and R must have rank 3, they are ", graph.type(x), " and ", graph.type(r)));
  if (batch_first) x = transposed(graph, x, {1, 0, 2});
  Dim directions = graph.type(r).shape[0], hidden = graph.type(r).shape[2],
      batch = graph.type(x).shape[1];
  if (!hidden.is_static()) return unimplemented("the shape of R must be known");
  if (hidden.extent() > int64_t{1} << 40) return invalid(cat("R is ", graph.type(r)));
  if (const int64_t stated = node.i("hidden_size", hidden.extent()); stated != hidden.extent())
    return invalid(cat("hidden_size is ", stated, ", and R is ", graph.type(r)));
  const Value lengths = short_lengths(graph, node, graph.type(x).shape[0]);
  size_t given = lengths ? kind.operands : 3;
  for (size_t k = 3; k < kind.operands; ++k) {
    if (node.has_input(k == 3 ? 3 : k + 1)) given = std::max(given, k + 1);
  }
  std::vector<ValueId> operands = {x, matrices.w, r};
  for (size_t k = 3; k < given; ++k) {
    size_t source = k == 3 ? 3 : k + 1;
    bool is_state = k == 4 || k == 5;
    if (node.has_input(source)) {
      ValueId operand = graph.input(source);
      operands.push_back(is_state && batch_first ? transposed(graph, operand, {1, 0, 2}) : operand);
      continue;
    }
    Shape shape = is_state ? Shape{directions, batch, hidden}
                           : Shape{directions, (k == 3 ? 2 * kind.gates : 3) * hidden.extent()};
    BYOC_TRY(ValueId zero, zeros(graph, shape, graph.type(x).dtype));
    operands.push_back(zero);
  }
  if (lengths) operands.push_back(*lengths);
  return operands;
}

Result<Attrs> attrs_of(const OnnxNode& node, const Kind& kind, int64_t directions) {
  const std::string op = kind.op;
  Attrs attrs{{"direction", node.s("direction", "forward")}};
  if (op == "gru") attrs.set("linear_before_reset", node.i("linear_before_reset", 0) != 0);
  if (op == "lstm") attrs.set("input_forget", node.i("input_forget", 0) != 0);
  if (node.has("clip")) attrs.set("clip", node.f("clip", 0));
  BYOC_TRY_STATUS(set_activations(node, kind, directions, attrs));
  return attrs;
}

Converted recurrent(Graph& graph, const OnnxNode& node, const Kind& kind,
                    const Matrices& matrices) {
  const bool batch_first = node.i("layout", 0) != 0;
  const int64_t directions = node.s("direction", "forward") == "bidirectional" ? 2 : 1;
  BYOC_TRY(Attrs attrs, attrs_of(node, kind, directions));
  BYOC_TRY(std::vector<ValueId> operands, operands_of(graph, node, kind, matrices, batch_first));
  ValueId y = graph.call(kind.op, operands, attrs);
  std::vector<ValueId> outputs = {y, {y.node, 1}, {y.node, 2}};
  outputs.resize(std::min<size_t>(node.num_outputs(), outputs.size()));
  for (size_t k = 0; k < outputs.size() && batch_first; ++k) {
    outputs[k] = transposed(graph, outputs[k], k == 0 ? Ints{2, 0, 1, 3} : Ints{1, 0, 2});
  }
  return outputs;
}

Matrices given_matrices(Graph& graph) { return {graph.input(1), graph.input(2)}; }

Converted lstm(Graph& graph, const OnnxNode& node) {
  return lstm_of(graph, node, given_matrices(graph));
}
Converted gru(Graph& graph, const OnnxNode& node) {
  return recurrent(graph, node, {"gru", 2, 3, 5}, given_matrices(graph));
}
Converted rnn(Graph& graph, const OnnxNode& node) {
  return recurrent(graph, node, {"rnn", 1, 1, 5}, given_matrices(graph));
}

constexpr Row kRecurrentRows[] = {
    {"LSTM", 7, kNewest, lstm},
    {"GRU", 7, kNewest, gru},
    {"RNN", 7, kNewest, rnn},
};

}  // namespace

Converted lstm_of(Graph& graph, const OnnxNode& node, const Matrices& matrices) {
  return recurrent(graph, node, {"lstm", 3, 4, 7}, matrices);
}

std::span<const Row> recurrent_rows() { return kRecurrentRows; }

}  // namespace byoc::onnx_import
