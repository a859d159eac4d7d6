#include "pieces.h"

#include <cmath>
#include <numbers>

namespace byoc::onednn {
namespace {

class Pieces {
 public:
  Pieces(const Graph& graph, const Node& call, const sdk::Body& body,
         const std::vector<int>& inputs, std::list<Node>& made)
      : graph_(graph), call_(call), body_(body), inputs_(inputs), made_(made) {}
  Unit layer_norm();
  Unit gelu();

 private:
  const sdk::Operand& captured(std::string_view name) const {
    auto found = body_.captures.find(name);
    if (found == body_.captures.end() || found->second.empty())
      throw Refusal{body_.pattern + " has no " + std::string(name)};
    return found->second.front();
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
  size_t axis_of_mean(std::string_view name) const;
  const Node* make(std::string op, const Node& like) {
    Node node = like;
    node.op = std::move(op);
    node.attrs = {};
    return &made_.emplace_back(std::move(node));
  }

  const Graph& graph_;
  const Node& call_;
  const sdk::Body& body_;
  const std::vector<int>& inputs_;
  std::list<Node>& made_;
};

double Pieces::scalar(std::string_view name) const {
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

// Constants are f32: one unit in the last place is the exporter's rounding.
void Pieces::expect(std::string_view name, double value) const {
  double given = scalar(name);
  if (std::abs(given - value) <= 1.2e-7 * std::abs(value)) return;
  throw Refusal{"its " + std::string(name) + " is " + std::to_string(given) + ", not " +
                std::to_string(value)};
}

// The mean is over this axis and all behind it.
size_t Pieces::axis_of_mean(std::string_view name) const {
  const Node* mean = body_.captured(name);
  if (mean == nullptr) throw Refusal{body_.pattern + " has no " + std::string(name)};
  size_t rank = graph_.type(call_).rank();
  sdk::Ints axes = mean->attrs.ints("axes");
  std::vector<bool> is_reduced(rank, axes.empty());
  for (int64_t axis : axes)
    is_reduced[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis)] = true;
  size_t first = rank;
  while (first > 0 && is_reduced[first - 1]) --first;
  for (size_t k = 0; k < first; ++k) {
    if (is_reduced[k]) throw Refusal{"its mean is not over the last axes"};
  }
  if (first == rank || !mean->attrs.b("keepdims", true))
    throw Refusal{"its mean is not over the last axes, kept with extent 1"};
  return first;
}

Unit Pieces::layer_norm() {
  expect("exponent", 2);
  size_t axis = axis_of_mean("mean");
  if (axis_of_mean("variance") != axis) throw Refusal{"its mean and variance differ in axes"};
  const Dims& dims = graph_.type(call_).dims;
  Dims normalised(dims.begin() + static_cast<ptrdiff_t>(axis), dims.end());
  for (const char* name : {"scale", "bias"}) {
    if (type(name).dims != normalised)
      throw Refusal{"its " + std::string(name) + " is " + type(name).text() +
                    ", not of the normalised dims"};
  }
  const Node* node = make("layer_norm", call_);
  made_.back().attrs.set("axis", static_cast<int64_t>(axis));
  made_.back().attrs.set("epsilon", scalar("epsilon"));
  return {node, {input("x"), input("scale"), input("bias")}, {}, -1, body_.nodes[0].loc};
}

Unit Pieces::gelu() {
  expect("root", std::numbers::sqrt2);
  expect("one", 1);
  expect("half", 0.5);
  const Node* gelu = make("gelu", call_);
  const Node* anchor = body_.captured("anchor");
  if (anchor == nullptr) return {gelu, {input("x")}, {}, -1, body_.nodes[0].loc};
  Unit unit{anchor, {}, {}, -1, anchor->loc};
  for (const sdk::Operand& operand : anchor->args) unit.args.push_back(input(operand));
  unit.posts = {{body_.captured("x"), input("bias")}, {gelu, -1}};
  return unit;
}

}  // namespace

bool is_pieces(const sdk::Body& body) {
  return body.captures.contains("variance") || body.captures.contains("root");
}

Unit read_pieces(const Graph& graph, const Node& call, const sdk::Body& body,
                 const std::vector<int>& inputs, std::list<Node>& made) {
  Pieces pieces(graph, call, body, inputs, made);
  return body.captures.contains("variance") ? pieces.layer_norm() : pieces.gelu();
}

}  // namespace byoc::onednn
