// SPDX-License-Identifier: Apache-2.0
#include "region/integers.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace byoc::onednn {
namespace {

using namespace sdk;  // the patterns read as their own small language

Dag floats_of(const std::string& name) {
  return one_of(
      {op("dequantize", {any(name), constant(name + "_scale")}),
       op("dequantize", {any(name), constant(name + "_scale"), constant(name + "_zero")})});
}

Dag quantized(const Dag& x) { return op("quantize", {x, constant("y_scale"), constant("y_zero")}); }

Dag product_of_integers(std::string_view anchor) {
  Dag weights = op("dequantize", {constant("w"), constant("w_scale")});
  Dag product = op(anchor, {floats_of("x"), weights}).as("anchor");
  Dag biased = optional(op("add", {prior(), constant("bias")}), product);
  Dag chain = optional(one_of({op("relu", {prior()}), op("clip", {prior()})}), biased);
  return optional(quantized(prior()), chain);
}

Dag sum_of_integers() {
  Dag sum = op("add", {floats_of("a"), floats_of("b")}).as("anchor");
  return quantized(optional(op("relu", {prior()}), sum));
}

}  // namespace

void add_integer_patterns(std::vector<Pattern>& table) {
  constexpr int32_t kFirst = 30;  // before the patterns of the same ops on floats
  for (std::string anchor : {"conv1d", "conv2d", "conv3d", "matmul", "gemm"})
    table.emplace_back(anchor + "_integers", product_of_integers(anchor), kFirst);
  const std::string sum = "add_integers";
  table.emplace_back(sum, sum_of_integers(), kFirst);
}

bool has_integers(const Body& body) {
  return std::any_of(body.nodes.begin(), body.nodes.end(),
                     [](const Node& node) { return node.op == "dequantize"; });
}

namespace {

class IntegerReader {
 public:
  IntegerReader(const Graph& graph, const Region& region, const Body& body,
                const std::vector<int>& inputs, const Type& result)
      : graph_(graph),
        region_(region),
        body_(body),
        inputs_(inputs),
        result_(result),
        rank_(result.rank()) {}
  Unit read();

 private:
  struct Floats {
    int value;
    Scale scale;
    int64_t axis;
  };
  int input(const Node& node, size_t arg) const {
    if (node.args[arg].kind != Operand::kInput) throw Refusal{"integers come from another op"};
    return inputs_[node.args[arg].index];
  }
  Scale scale_of(const Node& node) const {
    return {input(node, 1), node.args.size() > 2 ? input(node, 2) : -1};
  }
  void add_anchor(const Node& node);
  void add_post(const Node& node);
  void check_one(const Scale& scale, const char* what) const {
    if (region_.type(scale.scale).elements() != 1)
      throw Refusal{std::string("oneDNN has one scale for ") + what + ", not one per channel"};
  }
  void check_weights(const Node& node, const Floats& weights) const;
  bool is_per_channel(const Dims& dims) const;

  const Graph& graph_;
  const Region& region_;
  const Body& body_;
  const std::vector<int>& inputs_;
  const Type& result_;
  std::map<size_t, Floats> floats_;  // by the number of the dequantize
  Unit unit_;
  size_t rank_, channel_axis_ = 0;  // of the result
};

// Checks that the weights' scales are along the result's channels.
void IntegerReader::check_weights(const Node& node, const Floats& weights) const {
  if (region_.type(weights.value).dtype != DType::kI8)
    throw Refusal{"oneDNN multiplies by i8, not by " + region_.type(weights.value).text()};
  if (region_.type(weights.scale.scale).elements() == 1) return;
  const auto rank = static_cast<int64_t>(region_.type(weights.value).rank());
  const int64_t axis = weights.axis < 0 ? weights.axis + rank : weights.axis;
  const bool is_first = node.op.starts_with("conv") || node.attrs.b("trans_b", false);
  if (axis != (is_first ? 0 : rank - 1))
    throw Refusal{"the weights have a scale per entry of another dim than the channels"};
}

void IntegerReader::add_anchor(const Node& node) {
  if (graph_.type(node).dims != result_.dims)
    throw Refusal{"its bias makes " + result_.text() + " of " + graph_.type(node).text()};
  unit_.node = &node;
  unit_.name = node.loc;
  unit_.integers.emplace();
  std::vector<Floats> operands;
  for (const Operand& operand : node.args) {
    auto found = operand.kind == Operand::kNode ? floats_.find(operand.index) : floats_.end();
    if (found == floats_.end() || operands.size() == 2)
      throw Refusal{"an operand of " + node.op + " is not dequantized"};
    operands.push_back(found->second);
    unit_.args.push_back(found->second.value);
  }
  for (const Floats& operand : operands) {
    const DType dtype = region_.type(operand.value).dtype;
    if (dtype != DType::kU8 && dtype != DType::kI8)
      throw Refusal{"oneDNN has integers of 8 bits, not " + std::string(dtype_name(dtype))};
  }
  check_one(operands[0].scale, "an operand");
  if (node.op == "add") check_one(operands[1].scale, "an operand");
  else check_weights(node, operands[1]);
  unit_.integers->first = operands[0].scale;
  unit_.integers->second = operands[1].scale;
  channel_axis_ = node.op.starts_with("conv") ? 1 : rank_ - 1;
}

// Returns true for [c,1,1] against [n,c,h,w]: ones everywhere but at the channels.
bool IntegerReader::is_per_channel(const Dims& dims) const {
  if (dims.size() > rank_) return false;
  for (size_t k = 0; k < dims.size(); ++k) {
    if (k + rank_ - dims.size() != channel_axis_ && dims[k] != 1) return false;
  }
  return rank_ - dims.size() <= channel_axis_;
}

void IntegerReader::add_post(const Node& node) {
  Post post{&node};
  if (node.op == "add") {
    const bool is_second = node.args[0].kind == Operand::kNode;
    post.other = input(node, is_second ? 1 : 0);
    if (!is_per_channel(region_.type(post.other).dims))
      throw Refusal{"the operand added to a product of integers is no bias"};
  }
  unit_.posts.push_back(post);
}

Unit IntegerReader::read() {
  for (size_t k = 0; k < body_.nodes.size(); ++k) {
    const Node& node = body_.nodes[k];
    if (node.op == "dequantize")
      floats_[k] = {input(node, 0), scale_of(node), node.attrs.i("axis", 1)};
    else if (unit_.node == nullptr) add_anchor(node);
    else if (node.op == "quantize") unit_.integers->result = {input(node, 1), input(node, 2)};
    else add_post(node);
  }
  if (unit_.node == nullptr) throw Refusal{"composite " + body_.pattern + " has no product"};
  if (unit_.integers->result.scale >= 0) check_one(unit_.integers->result, "the result");
  return std::move(unit_);
}

}  // namespace

Unit read_integers(const Graph& graph, const Region& region, const Body& body,
                   const std::vector<int>& inputs, const Type& result) {
  if (!result.is_static() || result.rank() == 0) throw Refusal{"dims must be numbers"};
  return IntegerReader(graph, region, body, inputs, result).read();
}

std::vector<int> values_of_numbers(const Unit& unit) {
  std::vector<int> out;
  if (!unit.integers) return out;
  for (const Scale& scale : {unit.integers->first, unit.integers->second, unit.integers->result}) {
    for (int value : {scale.scale, scale.zero_point}) {
      if (value >= 0) out.push_back(value);
    }
  }
  for (const Post& post : unit.posts) {
    if (post.other >= 0) out.push_back(post.other);
  }
  return out;
}

namespace {

void check_positive(const Region& region, int scale) {
  auto known = region.numbers.find(scale);
  if (scale < 0 || known == region.numbers.end()) return;
  for (float number : known->second) {
    if (!(number > 0 && std::isfinite(number))) throw Refusal{"a scale is not positive"};
  }
}

}  // namespace

void read_known_numbers(const Graph& graph, const Unit& unit, Region& region) {
  for (int value : values_of_numbers(unit)) {
    const Value& from = region.at(value);
    if (from.origin != Value::kConstant) throw Refusal{"scales are given at run time"};
    const std::optional<sdk::Attr>& known = graph.constants[from.index].value;
    if (!known) continue;
    std::vector<float>& numbers = region.numbers[value];
    numbers.clear();
    auto append = [&](const auto& list) {
      for (auto element : list) numbers.push_back(static_cast<float>(element));
    };
    if (auto* floats = std::get_if<sdk::Floats>(&*known)) append(*floats);
    else if (auto* whole = std::get_if<sdk::Ints>(&*known)) append(*whole);
  }
  if (!unit.integers) return;
  for (const Scale& scale : {unit.integers->first, unit.integers->second, unit.integers->result})
    check_positive(region, scale.scale);
}

}  // namespace byoc::onednn
