// SPDX-License-Identifier: Apache-2.0
// Brings quantised graphs into the form that patterns match.
//
// Integers that are made floats and the same integers again stay integers, also where an op between
// the two only moves or chooses elements:
//   before: %1 = dequantize(%0, %s, %z)
//           %2 = max_pool(%1)
//           %3 = quantize(%2, %s, %z)
//   after:  %3 = max_pool(%0)
// Each operand of an op that is a dequantize gets one of its own, because patterns match values
// with one reader:
//   before: %1 = dequantize(%0, %s, %z)        after:  %1 = dequantize(%0, %s, %z)
//           %2 = conv2d(%1, %w)                        %2 = conv2d(%1, %w)
//           %3 = add(%2, %1)                           %3 = dequantize(%0, %s, %z)
//                                                      %4 = add(%2, %3)
// The first is exact: integers of 16 bits times a scale, divided by it, round to themselves. Nodes
// that are left without a reader are removed.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "byoc/op/registry.h"
#include "byoc/pass/simplify.h"
#include "core/simplify/functions.h"

namespace byoc {
namespace {

using namespace simplify;

const Call* call_of(const Function& function, ValueId value, std::string_view op) {
  auto* call = std::get_if<Call>(&function.nodes[value.node].kind);
  return call != nullptr && call->op->name == op ? call : nullptr;
}

const Buffer* data_of(const Function& function, ValueId value) {
  auto* constant = std::get_if<Constant>(&function.nodes[value.node].kind);
  return constant ? constant->data : nullptr;
}

// Returns whether a scale is one known number for which x * scale / scale rounds to x: positive,
// and far from the ends of the range of f32.
bool is_plain_scale(const Function& function, ValueId scale) {
  const Buffer* data = data_of(function, scale);
  if (data == nullptr || data->size() != sizeof(float)) return false;
  float value = 0;
  std::memcpy(&value, data->data(), sizeof value);
  return value > 0x1p-100f && value < 0x1p100f;
}

bool is_zero(const Function& function, ValueId value) {
  const Buffer* data = data_of(function, value);
  return data != nullptr && std::all_of(data->data(), data->data() + data->size(),
                                        [](std::byte byte) { return byte == std::byte{0}; });
}

bool is_small_integer(DType dtype) { return dtype_size(dtype) <= 2 && !is_float(dtype); }

// Returns whether the quantize and the dequantize, nodes of `function`, undo each other.
bool are_inverse(const Function& function, const Node& quantize, const Node& dequantize) {
  auto to = function.args(quantize), from = function.args(dequantize);
  if (function.type(from[0])->dtype != quantize.types[0]->dtype) return false;
  const bool same_zero_point = from.size() > 2 ? from[2] == to[2] : is_zero(function, to[2]);
  return is_small_integer(quantize.types[0]->dtype) && from[1] == to[1] && same_zero_point &&
         is_plain_scale(function, to[1]);
}

// Returns true for ops of one operand whose results are some of its elements.
bool moves_elements(const Call& call) {
  constexpr std::string_view kOps[] = {"max_pool", "global_max_pool", "reshape",
                                       "flatten",  "squeeze",         "unsqueeze",
                                       "slice",    "transpose",       "identity"};
  return std::find(std::begin(kOps), std::end(kOps), call.op->name) != std::end(kOps);
}

class Canceller {
 public:
  explicit Canceller(const Function& function)
      : rewriter_(function), uses_(function), source_(function.nodes.size()) {}
  Function run() &&;

 private:
  void find(uint32_t quantize);
  bool may_move(const Node& op, uint32_t quantize) const;
  void replace(uint32_t quantize);

  Rewriter rewriter_;
  UseCounts uses_;
  std::vector<std::optional<ValueId>> source_;  // of a quantize to be replaced: the integers
};

// Returns whether the op before a quantize gives the same on the integers.
bool Canceller::may_move(const Node& op, uint32_t quantize) const {
  const Function& from = rewriter_.from();
  auto* call = std::get_if<Call>(&op.kind);
  if (call == nullptr || !moves_elements(*call) || op.types.size() != 1) return false;
  const ValueId x = from.args(op)[0];
  if (call_of(from, x, "dequantize") == nullptr ||
      !are_inverse(from, from.nodes[quantize], from.nodes[x.node]))
    return false;
  const std::vector<TypeId> integers{from.type(from.args(from.nodes[x.node])[0])};
  auto types = infer_types(*call->op, integers, *call->attrs);
  return types.ok() && (*types)[0] == from.nodes[quantize].types[0];
}

void Canceller::find(uint32_t k) {
  const Function& from = rewriter_.from();
  if (call_of(from, {k, 0}, "quantize") == nullptr) return;
  ValueId x = from.args(from.nodes[k])[0];
  const Node& before = from.nodes[x.node];
  if (call_of(from, x, "dequantize") == nullptr) {
    if (uses_(x) != 1 || !may_move(before, k)) return;
    x = from.args(before)[0];
  } else if (!are_inverse(from, from.nodes[k], before)) {
    return;
  }
  source_[k] = from.args(from.nodes[x.node])[0];
}

// Replaces quantize(dequantize(q)) by q, and quantize(op(dequantize(q))) by op(q).
void Canceller::replace(uint32_t k) {
  const Function& from = rewriter_.from();
  const ValueId integers = rewriter_.map(*source_[k]), x = from.args(from.nodes[k])[0];
  if (call_of(from, x, "dequantize") != nullptr) return rewriter_.set({k, 0}, integers);
  const Node& op = from.nodes[x.node];
  const Call& call = std::get<Call>(op.kind);
  const std::vector<TypeId> types{from.nodes[k].types[0]};
  uint32_t now = rewriter_.to().add_call(call.op, call.attrs, std::vector{integers}, types, op.loc);
  rewriter_.set({k, 0}, {now, 0});
}

Function Canceller::run() && {
  const auto count = static_cast<uint32_t>(rewriter_.from().nodes.size());
  for (uint32_t k = 0; k < count; ++k) find(k);
  for (uint32_t k = 0; k < count; ++k) {
    if (source_[k]) replace(k);
    else rewriter_.copy(k);
  }
  return std::move(rewriter_).finish();
}

// Copies a function. The first operand that reads a dequantize keeps it; others get copies.
Function with_own_dequantize(const Function& function) {
  Rewriter rewriter(function);
  UseCounts uses(function);
  std::vector<bool> is_read(function.nodes.size());
  std::vector<ValueId> args;
  for (uint32_t k = 0; k < function.nodes.size(); ++k) {
    const Node& node = function.nodes[k];
    auto* call = std::get_if<Call>(&node.kind);
    const bool may_own = call != nullptr && !call->op->is_annotation;
    args.clear();
    for (ValueId arg : function.args(node)) {
      if (may_own && uses(arg) > 1 && call_of(function, arg, "dequantize") != nullptr) {
        if (is_read[arg.node]) rewriter.copy(arg.node);
        is_read[arg.node] = true;
      }
      args.push_back(rewriter.map(arg));
    }
    rewriter.replace(k, rewriter.to().add_copy(node, args));
  }
  return std::move(rewriter).finish();
}

bool has_dequantize(const Function& function) {
  for (uint32_t k = 0; k < function.nodes.size(); ++k) {
    if (call_of(function, {k, 0}, "dequantize") != nullptr) return true;
  }
  return false;
}

}  // namespace

Result<IRModule> prepare_quantized(IRModule module, const PassContext&) {
  for (auto& [name, function] : module.functions) {
    if (is_settled(function) || !has_dequantize(function)) continue;
    Function integers = Canceller(function).run();
    function = without_dead_nodes(with_own_dequantize(without_dead_nodes(std::move(integers))));
  }
  return module;
}

}  // namespace byoc
