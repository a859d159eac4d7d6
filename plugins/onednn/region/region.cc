// SPDX-License-Identifier: Apache-2.0
#include "region/region.h"

#include <algorithm>
#include <limits>

#include "library/check.h"
#include "region/chain.h"
#include "region/decomposed.h"
#include "region/integers.h"
#include "region/scalars.h"
#include "region/subviews.h"

namespace byoc::onednn {
namespace {

/// Returns an attribute that the primitives do not honour. Each op lists those they do; unlisted
/// ops have none.
std::string_view unknown_attribute(const Node& node) {
  const auto& attrs = node.attrs;
  const std::string& op = node.op;
  if (op.starts_with("conv"))
    return op.ends_with("_transpose")
               ? attrs.unknown({"strides", "pads", "dilations", "group", "output_padding"})
               : attrs.unknown({"strides", "pads", "dilations", "group"});
  if (op == "gemm") return attrs.unknown({"trans_a", "trans_b", "alpha"});
  if (op == "max_pool")
    return attrs.unknown({"kernel_shape", "strides", "pads", "dilations", "ceil_mode",
                          "with_indices", "storage_order"});
  if (op == "average_pool")
    return attrs.unknown(
        {"kernel_shape", "strides", "pads", "dilations", "ceil_mode", "count_include_pad"});
  if (op == "clip") return attrs.unknown({"min", "max"});
  if (op == "hard_sigmoid") return attrs.unknown({"alpha", "beta"});
  if (op == "elu" || op == "leaky_relu" || op == "swish") return attrs.unknown({"alpha"});
  if (op == "gelu") return attrs.unknown({"approximate"});
  if (op == "batch_norm") return attrs.unknown({"epsilon"});
  if (op == "layer_norm") return attrs.unknown({"axis", "epsilon", "stats"});
  if (op == "lrn") return attrs.unknown({"size", "alpha", "beta", "bias"});
  if (op == "softmax" || op == "log_softmax" || op == "concat" || op == "flatten")
    return attrs.unknown({"axis"});
  if (op == "reshape") return attrs.unknown({"shape", "allow_zero"});
  if (op == "layout_transform") return attrs.unknown({"src_layout", "dst_layout"});
  if (op == "transpose") return attrs.unknown({"perm"});
  if (op == "slice") return attrs.unknown({"starts", "ends", "axes", "steps"});
  if (op == "split") return attrs.unknown({"axis", "split"});
  if (op == "gather") return attrs.unknown({"axis"});
  if (op == "resize")
    return attrs.unknown({"sizes", "shape", "scales", "mode", "coordinates", "nearest",
                          "cubic_coeff_a", "exclude_outside", "antialias", "roi",
                          "extrapolation_value"});
  if (op == "pad") return attrs.unknown({"pads", "mode", "value"});
  if (op == "quantize" || op == "dequantize") return attrs.unknown({"axis"});
  return attrs.unknown({"axes", "keepdims", "noop_with_empty_axes"});  // reductions, squeeze
}

void check_attributes(const Node& node) {
  std::string_view unknown = unknown_attribute(node);
  if (!unknown.empty())
    throw Refusal{"attribute \"" + std::string(unknown) + "\" of " + node.op + " is not wired up"};
}

class RegionReader {
 public:
  RegionReader(const Graph& graph, const ChainRules& rules) : graph_(graph), rules_(rules) {}
  Region read();

 private:
  int add(Value::Origin origin, size_t index, const Type& type) {
    region_.values.push_back({origin, static_cast<uint32_t>(index), type});
    return static_cast<int>(region_.values.size() - 1);
  }
  int of(const sdk::Operand& operand) const {
    switch (operand.kind) {
      case sdk::Operand::kInput:
        return static_cast<int>(operand.index);
      case sdk::Operand::kConstant:
        return static_cast<int>(graph_.inputs.size() + operand.index);
      default:
        break;
    }
    BYOC_ONEDNN_CHECK(operand.index < node_values_.size(), "operands name earlier nodes");
    return node_values_[operand.index] + static_cast<int>(operand.output);
  }
  std::vector<int> of(const std::vector<sdk::Operand>& operands) const {
    std::vector<int> out;
    for (const sdk::Operand& operand : operands) out.push_back(of(operand));
    return out;
  }
  std::vector<Unit> read_op(const Node& node);  // one per result
  Unit read_composite(const Node& call, const sdk::Body& body);
  void add_unit(Unit unit, const Type& type);
  void find_growth(Unit& unit) const;
  /// Returns the type of the value that the unit gives, which is that of its last op.
  const Type& type_of(const Unit& unit) const {
    return graph_.type(unit.posts.empty() ? *unit.node : *unit.posts.back().node);
  }
  void add_chain(Unit unit);

  const Graph& graph_;
  ChainRules rules_;
  Region region_;
  std::vector<int> node_values_;  // per node of the graph: of its first result, the others follow
};

std::vector<Unit> RegionReader::read_op(const Node& node) {
  if (is_subview(node)) {
    std::vector<Unit> views;
    for (const Node* view : read_subviews(graph_, node, region_.made))
      views.push_back({view, {of(node.args[0])}, {}, -1, node.loc});
    return views;
  }
  WithScalar with_scalar = read_with_scalar(graph_, node, region_.made);
  if (with_scalar.node != nullptr)
    return {{with_scalar.node, {of(with_scalar.operand)}, {}, -1, node.loc}};
  if (node.types.size() != 1) throw Refusal{node.op + " with several outputs is not wired up"};
  return {{&node, of(node.args), {}, -1, node.loc}};
}

// Reads a composite whose body is a chain: each node after the first reads the value so far, once,
// and at most one further input.
Unit RegionReader::read_composite(const Node& call, const sdk::Body& body) {
  std::vector<int> inputs = of(call.args);
  if (is_decomposed(body)) return read_decomposed(graph_, call, body, inputs, region_.made);
  if (body.nodes.empty() || body.outputs.size() != 1)
    throw Refusal{"composite " + body.pattern + " has no single result"};
  auto input = [&](const sdk::Operand& operand) {
    if (operand.kind != sdk::Operand::kInput)
      throw Refusal{"composite " + body.pattern + " is no chain of ops"};
    return inputs[operand.index];
  };
  Unit unit{&body.nodes[0], {}, {}, -1, body.nodes[0].loc};
  for (const sdk::Operand& operand : body.nodes[0].args) unit.args.push_back(input(operand));
  for (uint32_t k = 1; k < body.nodes.size(); ++k) {
    Post post{&body.nodes[k]};
    int chain_reads = 0;
    for (const sdk::Operand& operand : body.nodes[k].args) {
      bool is_chain = operand.kind == sdk::Operand::kNode && operand.index == k - 1;
      if (is_chain) ++chain_reads;
      else if (post.other >= 0) throw Refusal{"a post-op with three operands is not wired up"};
      else post.other = input(operand);
    }
    if (chain_reads != 1) throw Refusal{"composite " + body.pattern + " is no chain of ops"};
    unit.posts.push_back(post);
  }
  if (body.outputs[0].kind != sdk::Operand::kNode ||
      body.outputs[0].index + 1 != body.nodes.size()) {
    throw Refusal{"composite " + body.pattern + " does not end in its last op"};
  }
  return unit;
}

void RegionReader::add_unit(Unit unit, const Type& type) {
  unit.graph_node = static_cast<int64_t>(node_values_.size()) - 1;
  unit.out = add(Value::kUnit, region_.units.size(), type);
  region_.units.push_back(std::move(unit));
}

// Marks the posts whose operand makes the result larger. The anchor's primitive computes a result
// of the anchor's own type: [1,1,8] x [8,16] has one row, whatever [1,5,16] is added to it.
void RegionReader::find_growth(Unit& unit) const {
  const Type* before = &graph_.type(*unit.node);
  for (Post& post : unit.posts) {
    const Type* after = &graph_.type(*post.node);
    post.grows = after->dims != before->dims;
    before = after;
  }
}

// Adds the anchor with the posts that it can run, then a unit for each of the others.
void RegionReader::add_chain(Unit unit) {
  find_growth(unit);
  Chain chain = read_chain(unit.posts, region_.made, rules_);
  unit.posts = std::move(chain.fused);
  const Type& type = type_of(unit);
  add_unit(std::move(unit), type);
  for (const Post& post : chain.rest) {
    Unit next{post.node, {region_.units.back().out}, {}, -1, post.node->loc};
    if (post.other >= 0) {
      BYOC_ONEDNN_CHECK(post.node->args.size() == 2, post.node->op + " is a binary op");
      bool is_second = post.node->args[0].kind != sdk::Operand::kNode;
      next.args.insert(is_second ? next.args.begin() : next.args.end(), post.other);
    }
    add_unit(std::move(next), graph_.type(*post.node));
  }
  node_values_.back() = region_.units.back().out;
}

Region RegionReader::read() {
  for (size_t k = 0; k < graph_.inputs.size(); ++k) add(Value::kInput, k, graph_.input_type(k));
  for (size_t k = 0; k < graph_.constants.size(); ++k)
    add(Value::kConstant, k, graph_.types[graph_.constants[k].type]);
  for (const Node& node : graph_.nodes) {
    const sdk::Body* body = graph_.callee(node);
    for (const Node& inner : body ? body->nodes : std::vector<Node>{node}) check_attributes(inner);
    if (body && has_integers(*body)) {
      Unit unit = read_integers(graph_, region_, *body, of(node.args), graph_.type(node));
      node_values_.push_back(static_cast<int>(region_.values.size()));
      read_known_numbers(graph_, unit, region_);
      add_unit(std::move(unit), graph_.type(node));
      continue;
    }
    if (body) {
      Unit unit = read_composite(node, *body);
      node_values_.push_back(-1);
      add_chain(std::move(unit));
      continue;
    }
    std::vector<Unit> units = read_op(node);
    node_values_.push_back(static_cast<int>(region_.values.size()));
    BYOC_ONEDNN_CHECK(units.size() == node.types.size(), node.op + " has a unit per result");
    for (size_t k = 0; k < units.size(); ++k) add_unit(std::move(units[k]), graph_.type(node, k));
  }
  for (const sdk::Operand& operand : graph_.outputs) region_.outputs.push_back(of(operand));
  return std::move(region_);
}

constexpr int64_t kMost = std::numeric_limits<int32_t>::max();

}  // namespace

bool is_countable(const Type& type) {
  int64_t count = 1;
  return std::ranges::all_of(type.dims, [&](int64_t dim) {
    return !__builtin_mul_overflow(count, std::max<int64_t>(dim, 1), &count) && count <= kMost;
  });
}

Region read_region(const Graph& graph, const ChainRules& rules) {
  for (const Type& type : graph.types) {
    if (type.is_static() && !is_countable(type))
      throw Refusal{"a tensor is " + type.text() + ", and products of oneDNN of more than " +
                    std::to_string(kMost) + " elements end the process"};
  }
  return RegionReader(graph, rules).read();
}

std::map<int, PackedOutput> packed_outputs(const Region& region) {
  std::map<int, PackedOutput> out;
  for (const Unit& unit : region.units) {
    auto output = std::find(region.outputs.begin(), region.outputs.end(), unit.out);
    if (output == region.outputs.end() || unit.node->op != "layout_transform") continue;
    const auto index = static_cast<uint32_t>(output - region.outputs.begin());
    const Dims& dims = region.type(unit.out).dims;
    if (dims.size() != 5) continue;
    out.emplace(unit.args.at(0), PackedOutput{index, "aBcd" + std::to_string(dims[4]) + "b"});
  }
  return out;
}

}  // namespace byoc::onednn
