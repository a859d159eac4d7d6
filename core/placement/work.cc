// SPDX-License-Identifier: Apache-2.0
#include "core/placement/work.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "byoc/base/check.h"
#include "byoc/ir/intern.h"
#include "byoc/ir/open_shape.h"
#include "byoc/op/op.h"
#include "byoc/op/placement_attr.h"

namespace byoc::placement {
namespace {

constexpr std::string_view kNames[kOpClasses] = {
    "convolution", "pointwise", "depthwise", "matmul", "pooling", "elementwise",
    "function",    "reduction", "move",      "free",   "other"};
constexpr double kManyFlops = 4;  // per element

double bytes_of(TypeId type) {
  Result<int64_t> bytes = size_bytes(*type);
  return bytes.ok() ? static_cast<double>(*bytes) : 0;
}
double elements_of(TypeId type) {
  Result<int64_t> elements = num_elements(type->shape);
  return elements.ok() ? static_cast<double>(*elements) : 0;
}

OpClass class_of_convolution(const Call& call, std::span<const TypeId> types) {
  if (call.attrs->has("group") && call.attrs->i("group") > 1) return OpClass::kDepthwise;
  const Shape& weight = types[1]->shape;
  for (size_t k = 2; k < weight.size(); ++k) {
    if (!weight[k].is_static() || weight[k].extent() != 1) return OpClass::kConvolution;
  }
  return OpClass::kPointwise;
}

OpClass class_of(const Call& call, std::span<const TypeId> types, double flops, double elements) {
  const OpFacts& facts = call.op->facts;
  if (facts.is_view) return OpClass::kFree;
  switch (facts.family) {
    case OpFamily::kConvolution:
    case OpFamily::kTransposedConvolution:
      return class_of_convolution(call, types);
    case OpFamily::kPool:
    case OpFamily::kMeanPool:
      return OpClass::kPooling;
    default:
      break;
  }
  switch (call.op->kind) {
    case FusionKind::kElementwise:
    case FusionKind::kBroadcast:
      return flops > kManyFlops * elements ? OpClass::kFunction : OpClass::kElementwise;
    case FusionKind::kInjective:
      return OpClass::kMove;
    case FusionKind::kReduction:
      return OpClass::kReduction;
    case FusionKind::kAnchor:
      return OpClass::kMatmul;
    case FusionKind::kOpaque:
      return OpClass::kOther;
  }
  return OpClass::kOther;
}

std::vector<TypeId> types_of(const Function& function, const Node& node) {
  std::vector<TypeId> types;
  for (ValueId arg : function.args(node)) types.push_back(function.type(arg));
  return types;
}

void add_op(const Function& function, uint32_t node, Work& work, double& most) {
  BYOC_CHECK(node < function.nodes.size(), "the function has no node ", node);
  const Node& n = function.nodes[node];
  auto* call = std::get_if<Call>(&n.kind);
  if (call == nullptr) return;
  const std::vector<TypeId> types = types_of(function, n);
  std::vector<TypeId> results;
  double elements = 0;
  for (size_t k = 0; k < n.types.size(); ++k) {
    results.push_back(n.types[k]);
    elements += elements_of(n.types[k]);
  }
  const double count = flops(*call->op, types, results, *call->attrs);
  work.flops += count;
  if (count < most) return;
  most = count;
  work.op_class = class_of(*call, types, count, elements);
}

// Prints attributes without the one that pins the op, which changes no cost.
void add_attrs(const Attrs& attrs, bool with_placement, std::string& out) {
  if (with_placement || !attrs.has(kPlacementAttribute)) {
    out += cat(" ", attrs);
    return;
  }
  Attrs others = attrs;
  others.erase(kPlacementAttribute);
  out += cat(" ", others);
}

void add_text(const Function& function, uint32_t node, std::string& out,
              std::unordered_map<uint32_t, std::string>& names, bool with_placement) {
  const Node& n = function.nodes[node];
  auto name_of = [&](ValueId value) {
    auto [at, is_new] = names.try_emplace(value.node);
    if (is_new) {
      const bool constant = std::holds_alternative<Constant>(function.nodes[value.node].kind);
      at->second = cat(constant ? "c" : "i", names.size(), ":", function.type(value));
    }
    return cat(at->second, "#", value.output);
  };
  if (auto* call = std::get_if<Call>(&n.kind)) out += cat(call->op->name, "/", call->op->version);
  else if (auto* invoke = std::get_if<Invoke>(&n.kind)) out += cat("@", invoke->function);
  for (ValueId arg : function.args(n)) out += cat(" ", name_of(arg));
  if (auto* call = std::get_if<Call>(&n.kind)) add_attrs(*call->attrs, with_placement, out);
  out += cat(" -> ", n.types, "\n");
  names[node] = cat("n", names.size());
}

}  // namespace

std::string_view class_name(OpClass op_class) { return kNames[static_cast<size_t>(op_class)]; }

OpClass class_of_name(std::string_view name) {
  const auto* at = std::find(std::begin(kNames), std::end(kNames), name);
  return at == std::end(kNames) ? OpClass::kOther : static_cast<OpClass>(at - std::begin(kNames));
}

Work work_of(const Function& function, std::span<const uint32_t> nodes, uint32_t root) {
  BYOC_CHECK(std::ranges::is_sorted(nodes), "the nodes of a match ascend");
  Work work;
  double most = -1;
  std::vector<ValueId> read;
  for (uint32_t node : nodes) {
    add_op(function, node, work, most);
    for (ValueId arg : function.args(function.nodes[node])) {
      if (!std::binary_search(nodes.begin(), nodes.end(), arg.node)) read.push_back(arg);
    }
  }
  std::sort(read.begin(), read.end());
  read.erase(std::unique(read.begin(), read.end()), read.end());
  for (ValueId value : read) work.bytes += bytes_of(function.type(value));
  for (size_t k = 0; k < function.nodes[root].types.size(); ++k)
    work.bytes += bytes_of(function.nodes[root].types[k]);
  return work;
}

Work work_of(const IRModule& module, const Function& function, uint32_t node) {
  auto* invoke = std::get_if<Invoke>(&function.nodes[node].kind);
  const Function* body = invoke != nullptr ? module.find(invoke->function) : nullptr;
  if (body == nullptr) return work_of(function, std::span(&node, 1), node);
  Work work;
  double most = -1;
  for (uint32_t k = 0; k < body->nodes.size(); ++k) add_op(*body, k, work, most);
  for (ValueId arg : function.args(function.nodes[node]))
    work.bytes += bytes_of(function.type(arg));
  for (size_t k = 0; k < function.nodes[node].types.size(); ++k)
    work.bytes += bytes_of(function.nodes[node].types[k]);
  return work;
}

std::string canonical_text(const Function& function, std::span<const uint32_t> nodes) {
  std::string out;
  std::unordered_map<uint32_t, std::string> names;
  for (uint32_t node : nodes) add_text(function, node, out, names, false);
  return out;
}

std::string graph_text(const IRModule& module) {
  std::string out;
  for (const auto& [name, function] : module.functions) {
    out += cat("fn ", name, " ", function.attrs, "\n");
    std::unordered_map<uint32_t, std::string> names;
    for (uint32_t node = 0; node < function.nodes.size(); ++node) {
      const Node& n = function.nodes[node];
      if (std::holds_alternative<Param>(n.kind)) {
        names[node] = cat("p", node, ":", n.types);
      } else if (!std::holds_alternative<Constant>(n.kind)) {
        add_text(function, node, out, names, true);
      }
    }
    for (ValueId result : function.results)
      out += cat("return ", names[result.node], "#", result.output, "\n");
  }
  return out;
}

namespace {

constexpr int64_t kSampleImages = 4, kSampleRows = 128;

using SampleSizes = std::map<Symbol, int64_t>;  // by name

// Returns the numbers of the sizes that parameters have: those of first dims first.
SampleSizes sample_sizes_of(const Function& function) {
  SampleSizes out;
  for (const bool is_first : {true, false}) {
    const int64_t usual = is_first ? kSampleImages : kSampleRows;
    for (const Node& node : function.nodes) {
      if (!std::holds_alternative<Param>(node.kind)) continue;
      const Shape& shape = node.types[0]->shape;
      for (size_t d = 0; d < shape.size(); ++d) {
        if (shape[d].is_counted() || (d == 0) != is_first) continue;
        for (Dim size : sizes_in(shape[d]))
          out.emplace(size.name(), std::clamp(usual, size.min(), size.max()));
      }
    }
  }
  return out;
}

Shape at_samples(Shape shape, const SampleSizes& sizes) {
  for (Dim& dim : shape) {
    if (dim.is_static() || dim.is_counted()) continue;
    const Result<Dim> now = with_sizes(dim, [&](Dim size) -> std::optional<Dim> {
      auto found = sizes.find(size.name());
      return found == sizes.end() ? std::nullopt : std::optional(Dim(found->second));
    });
    if (now.ok()) dim = *now;
  }
  return shape;
}

// Gives an op whose result has dims of its own their numbers.
void set_sample_shape(Call& call, const SampleSizes& sizes) {
  if (!call.attrs->has(kOpenShapeAttr)) return;
  const Result<Shape> shape = open_shape_of(*call.attrs);
  if (!shape.ok()) return;
  Attrs attrs = *call.attrs;
  set_open_shape(attrs, at_samples(*shape, sizes));
  call.attrs = intern(std::move(attrs));
}

}  // namespace

std::optional<Function> at_sample_sizes(const Function& function) {
  const SampleSizes sizes = sample_sizes_of(function);
  if (sizes.empty()) return std::nullopt;
  Function out = function;
  for (Node& node : out.nodes) {
    std::vector<TypeId> types;
    for (size_t k = 0; k < node.types.size(); ++k)
      types.push_back(TensorType{node.types[k]->dtype, at_samples(node.types[k]->shape, sizes)});
    node.types = types;
    if (auto* call = std::get_if<Call>(&node.kind)) set_sample_shape(*call, sizes);
  }
  return out;
}

}  // namespace byoc::placement
