// SPDX-License-Identifier: Apache-2.0
#include "region/decomposed.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "library/check.h"

namespace byoc::onednn {
namespace {

using namespace sdk;  // the patterns read as their own small language

// Matches f * x, times a half that may be the last factor, at f or at x. `f` has captured x.
Dag times_half_x(const Dag& f) {
  Dag half = constant("half");
  return one_of({op("multiply", {op("multiply", {f, same("x")}), half}),
                 op("multiply", {f, op("multiply", {same("x"), half})}),
                 op("multiply", {op("multiply", {f, half}), same("x")})});
}

// x * (1 + erf(x / sqrt(2))) / 2
Dag gelu_erf(const Dag& x) {
  Dag scaled =
      one_of({op("divide", {x, constant("root")}), op("multiply", {x, constant("unroot")})});
  return times_half_x(op("add", {op("erf", {scaled}).as("gelu_erf"), constant("one")}));
}

// x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2
Dag gelu_tanh(const Dag& x) {
  Dag cube = one_of({op("power", {x, constant("three")}),
                     op("multiply", {op("multiply", {x, same("x")}), same("x")})});
  Dag inner = op("add", {op("multiply", {cube, constant("kappa")}), same("x")});
  Dag tanh = op("tanh", {op("multiply", {inner, constant("beta")})}).as("gelu_tanh");
  return times_half_x(op("add", {tanh, constant("one")}));
}

// x * sigmoid(alpha * x)
Dag swish(const Dag& x) {
  Dag inner = one_of({x, op("multiply", {x, constant("alpha")})});
  return op("multiply", {op("sigmoid", {inner}).as("swish"), same("x")});
}

// x * min(max(x + 3, 0), 6) / 6, or x * hard_sigmoid(x) with slope 1 / 6
Dag hard_swish(const Dag& x) {
  Dag gate = op("clip", {op("add", {x, constant("three")})}).as("hard_swish");
  Dag six = constant("six");
  return one_of({op("multiply", {op("hard_sigmoid", {x}).as("hard_swish"), same("x")}),
                 op("divide", {op("multiply", {gate, same("x")}), six}),
                 op("multiply", {op("divide", {gate, six}), same("x")}),
                 op("multiply", {op("multiply", {gate, same("x")}), constant("sixth")})});
}

// x * tanh(log(1 + e^x))
Dag mish(const Dag& x) {
  return op("multiply", {op("tanh", {op("softplus", {x})}).as("mish"), same("x")});
}

class DecomposedReader {
 public:
  DecomposedReader(const Graph& graph, const Node& call, const sdk::Body& body,
                   const std::vector<int>& inputs, std::list<Node>& made)
      : graph_(graph), call_(call), body_(body), inputs_(inputs), made_(made) {}
  Unit layer_norm();
  Unit function();

 private:
  bool has(std::string_view name) const {
    auto found = body_.captures.find(name);
    return found != body_.captures.end() && !found->second.empty();
  }
  const sdk::Operand& captured(std::string_view name) const {
    if (!has(name)) throw Refusal{body_.pattern + " has no " + std::string(name)};
    return body_.captures.find(name)->second.front();
  }
  int input(const sdk::Operand& operand) const {
    if (operand.kind != sdk::Operand::kInput)
      throw Refusal{body_.pattern + " reads a value that it makes itself"};
    return inputs_[operand.index];
  }
  int input(std::string_view name) const { return input(captured(name)); }
  const Type& type(std::string_view name) const { return graph_.type(body_, captured(name)); }
  double scalar(std::string_view name) const;
  void expect(std::string_view name, double value) const;
  /// Compares as expect does, where the pattern has such a constant.
  void may_have(std::string_view name, double value) const {
    if (has(name)) expect(name, value);
  }
  size_t axis_of_mean(std::string_view name) const;
  const Node* make(std::string op) {
    Node node = call_;
    node.op = std::move(op);
    node.attrs = {};
    return &made_.emplace_back(std::move(node));
  }
  const Type& function_type() const;
  const Node* make_function();
  void check_hard_swish() const;
  void add_posts(std::string_view name, Unit& unit) const;

  const Graph& graph_;
  const Node& call_;
  const sdk::Body& body_;
  const std::vector<int>& inputs_;
  std::list<Node>& made_;
};

double DecomposedReader::scalar(std::string_view name) const {
  const sdk::Operand& operand = captured(name);
  if (operand.kind == sdk::Operand::kInput) {
    const sdk::Operand& given = call_.args[operand.index];
    if (given.kind == sdk::Operand::kConstant && graph_.constants[given.index].value) {
      auto* list = std::get_if<sdk::Floats>(&*graph_.constants[given.index].value);
      if (list != nullptr && list->size() == 1) return list->front();
      auto* whole = std::get_if<sdk::Ints>(&*graph_.constants[given.index].value);
      if (whole != nullptr && whole->size() == 1) return static_cast<double>(whole->front());
    }
  }
  throw Refusal{"its " + std::string(name) + " is no constant of one element"};
}

// Compares a constant. Constants are f32, and some exporters compute with them: the tolerance is a
// few units in the last place.
void DecomposedReader::expect(std::string_view name, double value) const {
  double given = scalar(name);
  if (std::abs(given - value) <= 3e-7 * std::abs(value)) return;
  throw Refusal{"its " + std::string(name) + " is " + std::to_string(given) + ", not " +
                std::to_string(value)};
}

// Returns the first axis of the mean, which is over this axis and all after it.
size_t DecomposedReader::axis_of_mean(std::string_view name) const {
  const Node* mean = body_.captured(name);
  if (mean == nullptr) throw Refusal{body_.pattern + " has no " + std::string(name)};
  size_t rank = graph_.type(call_).rank();
  sdk::Ints axes = mean->attrs.ints("axes");
  std::vector<bool> is_reduced(rank, axes.empty());
  for (int64_t axis : axes) {
    auto from_front = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
    BYOC_ONEDNN_CHECK(from_front < rank, "mean over axis " + std::to_string(axis));
    is_reduced[from_front] = true;
  }
  size_t first = rank;
  while (first > 0 && is_reduced[first - 1]) --first;
  for (size_t k = 0; k < first; ++k) {
    if (is_reduced[k]) throw Refusal{"its mean is not over the last axes"};
  }
  if (first == rank || !mean->attrs.b("keepdims", true))
    throw Refusal{"its mean is not over the last axes, kept with extent 1"};
  return first;
}

Unit DecomposedReader::layer_norm() {
  may_have("exponent", 2);
  if (type("x").dims != graph_.type(call_).dims)
    throw Refusal{"its scale or bias makes " + graph_.type(call_).text() + " of " +
                  type("x").text()};
  size_t axis = axis_of_mean("mean");
  if (axis_of_mean("variance") != axis) throw Refusal{"its mean and variance differ in axes"};
  const Dims& dims = graph_.type(call_).dims;
  Dims normalised(dims.begin() + static_cast<ptrdiff_t>(axis), dims.end());
  const Node* node = make("layer_norm");
  made_.back().attrs.set("axis", static_cast<int64_t>(axis));
  made_.back().attrs.set("epsilon", scalar("epsilon"));
  Unit unit{node, {input("x")}, {}, -1, body_.nodes[0].loc};
  for (const char* name : {"scale", "bias"}) {
    if (!has(name)) continue;
    if (type(name).dims != normalised)
      throw Refusal{"its " + std::string(name) + " is " + type(name).text() +
                    ", not of the normalised dims"};
    unit.args.push_back(input(name));
  }
  return unit;
}

void DecomposedReader::check_hard_swish() const {
  const Node* gate = body_.captured("hard_swish");
  BYOC_ONEDNN_CHECK(gate != nullptr, "the pattern captures an op as hard_swish");
  if (gate->op == "hard_sigmoid") {
    double alpha = gate->attrs.f("alpha", 0.2), beta = gate->attrs.f("beta", 0.5);
    if (std::abs(alpha - 1.0 / 6) > 1e-7 || beta != 0.5)
      throw Refusal{"its hard_sigmoid is not x / 6 + 1 / 2"};
    return;
  }
  expect("three", 3);
  may_have("six", 6);
  may_have("sixth", 1.0 / 6);
  constexpr double kNone = std::numeric_limits<double>::infinity();
  if (gate->attrs.f("min", -kNone) != 0 || gate->attrs.f("max", kNone) != 6)
    throw Refusal{"its clip is not to [0, 6]"};
}

const Node* DecomposedReader::make_function() {
  if (has("gelu_erf")) {
    may_have("root", std::numbers::sqrt2);
    may_have("unroot", 1 / std::numbers::sqrt2);
  } else if (has("gelu_tanh")) {
    may_have("three", 3);
    expect("kappa", 0.044715);
    expect("beta", std::numbers::sqrt2 * std::numbers::inv_sqrtpi);
  } else if (has("hard_swish")) {
    check_hard_swish();
    return make("hard_swish");
  } else if (has("swish")) {
    const Node* node = make("swish");
    if (has("alpha")) made_.back().attrs.set("alpha", scalar("alpha"));
    return node;
  } else {
    return make("mish");
  }
  expect("one", 1);
  expect("half", 0.5);
  const Node* node = make("gelu");
  if (has("gelu_tanh")) made_.back().attrs.set("approximate", std::string("tanh"));
  return node;
}

// Adds ops on the value so far, which is made inside: their other operand comes from outside.
void DecomposedReader::add_posts(std::string_view name, Unit& unit) const {
  auto found = body_.captures.find(name);
  if (found == body_.captures.end()) return;
  for (const sdk::Operand& operand : found->second) {
    BYOC_ONEDNN_CHECK(operand.kind == sdk::Operand::kNode, "the pattern captures ops as posts");
    const Node& node = body_.nodes[operand.index];
    int other = -1;
    for (const sdk::Operand& arg : node.args) {
      if (arg.kind == sdk::Operand::kInput) other = input(arg);
    }
    unit.posts.push_back({&node, other});
  }
}

// Returns the type of the function's result, which the first op after it reads.
const Type& DecomposedReader::function_type() const {
  if (!has("after")) return graph_.type(call_);
  for (const sdk::Operand& arg : body_.nodes[captured("after").index].args) {
    if (arg.kind == sdk::Operand::kNode) return graph_.type(body_, arg);
  }
  throw Refusal{body_.pattern + " is no chain of ops"};
}

Unit DecomposedReader::function() {
  BYOC_ONEDNN_CHECK(!body_.nodes.empty(), body_.pattern + " has ops");
  if (type("x").dims != function_type().dims)
    throw Refusal{"its constants make " + function_type().text() + " of " + type("x").text()};
  const Node* function = make_function();
  if (captured("x").kind == sdk::Operand::kNode)  // of its own type, not that of the composite
    made_.back().types = {body_.nodes[captured("x").index].types.at(0)};
  const Node* anchor = body_.captured("anchor");
  if (anchor == nullptr) return {function, {input("x")}, {}, -1, body_.nodes[0].loc};
  Unit unit{anchor, {}, {}, -1, anchor->loc};
  for (const sdk::Operand& operand : anchor->args) unit.args.push_back(input(operand));
  add_posts("bias_add", unit);
  add_posts("before", unit);
  unit.posts.push_back({function, -1});
  add_posts("after", unit);
  return unit;
}

}  // namespace

const std::vector<Decomposed>& decomposed_functions() {
  static const std::vector<Decomposed> rows = {{"gelu_erf", gelu_erf},
                                               {"gelu_tanh", gelu_tanh},
                                               {"swish", swish},
                                               {"hard_swish", hard_swish},
                                               {"mish", mish}};
  return rows;
}

// (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) [* scale [+ bias]]
Dag decomposed_layer_norm() {
  Dag centred = op("subtract", {any("x"), op("mean", {same("x")}).as("mean")}).as("centred");
  Dag square = one_of({op("power", {same("centred"), constant("exponent")}),
                       op("multiply", {same("centred"), same("centred")})});
  Dag variance = op("add", {op("mean", {square}).as("variance"), constant("epsilon")});
  Dag root = op("sqrt", {variance});
  Dag normal =
      one_of({op("divide", {centred, root}), op("multiply", {centred, op("reciprocal", {root})}),
              op("multiply", {centred, op("rsqrt", {variance})})});
  Dag scaled = op("multiply", {normal, constant("scale")});
  return one_of({op("add", {scaled, constant("bias")}), scaled, normal});
}

bool is_decomposed(const sdk::Body& body) {
  if (body.captures.contains("variance")) return true;
  for (const Decomposed& row : decomposed_functions()) {
    if (body.captures.contains(row.name)) return true;
  }
  return false;
}

Unit read_decomposed(const Graph& graph, const Node& call, const sdk::Body& body,
                     const std::vector<int>& inputs, std::list<Node>& made) {
  DecomposedReader reader(graph, call, body, inputs, made);
  return body.captures.contains("variance") ? reader.layer_norm() : reader.function();
}

}  // namespace byoc::onednn
