// SPDX-License-Identifier: Apache-2.0
// Computes chains of ops on f16 and bf16 in f32, so that a chain rounds once, at its end.
//   before: %0 = conv2d(%x, %w) : f16[1,8,6,6]     with %x: f16[1,4,8,8], %w = const
//           %1 = relu(%0)
//           return %1
//   after:  %0 = cast(%x) {to=f32}
//           %1 = conv2d(%0, %w) : f32[1,8,6,6]     with %w as f32
//           %2 = relu(%1)
//           %3 = cast(%2) {to=f16}
//           return %3
// A chain ends at results of the function, at calls, control flow, and ops that have no f32 form. A
// cast of the model to f16 rounds. A cast of a value of a chain reads it before it is rounded. A
// matrix of dequantize_blocks begins a chain: its codes and scales keep their types. Ops that move
// elements stay in 16 bits where no operand is a value of a chain. Constants become f32, but for
// large matrices that a product reads: these get a cast, which fold_constants keeps. Functions with
// annotations stay as they are.
#include <algorithm>
#include <map>
#include <set>

#include "byoc/op/evaluate.h"
#include "byoc/op/registry.h"
#include "byoc/pass/simplify.h"
#include "core/simplify/functions.h"

namespace byoc {
namespace {

using namespace simplify;

bool is_small(TypeId type) { return type->dtype == DType::kF16 || type->dtype == DType::kBF16; }
TypeId widened(TypeId type) {
  return is_small(type) ? TypeId(TensorType{DType::kF32, type->shape}) : type;
}

// Returns whether operand k of a node is a constant matrix of a product of floats, of a size that
// is worth its narrow form.
bool is_stored_weight(const Function& function, const Node& node, size_t k) {
  const OpFacts& facts = std::get<Call>(node.kind).op->facts;
  if (facts.family != OpFamily::kProduct || !facts.is_plain || facts.weight != static_cast<int>(k))
    return false;
  const ValueId weight = function.args(node)[k];
  const Shape& shape = function.type(weight)->shape;
  Result<int64_t> count = num_elements(shape);
  return is_constant(function.nodes[weight.node]) && shape.size() == 2 && count.ok() &&
         *count >= kLeastStored;
}

bool moves_elements(const OpDef& op) {
  return op.sizes || (op.kind == FusionKind::kInjective && op.facts.family != OpFamily::kResize);
}

// Caches stay as they are stored: a step writes or reads a few of their rows, a cast all of them.
bool writes_to_cache(const OpDef& op) { return op.name == "update_rows"; }
bool reads_cache(const OpDef& op, size_t operand) {
  return op.name == "cached_attention" && (operand == 1 || operand == 2);
}

class Widener {
 public:
  Widener(IRModule& module, const Function& function, const OpDef& cast)
      : rewriter_(function), constants_(module, rewriter_.to()), cast_(cast) {}
  Result<Function> run() &&;

 private:
  using Key = std::pair<uint32_t, uint32_t>;  // node, output
  static Key key(ValueId value) { return {value.node, value.output}; }
  const Function& from() const { return rewriter_.from(); }

  Status rewrite(uint32_t node);
  Status copy(uint32_t node);
  Result<bool> rewrite_cast(uint32_t node, const Call& call);
  void rewrite_dequantize(uint32_t node, const Call& call);
  Result<bool> widen(uint32_t node, const Call& call);
  ValueId narrow(ValueId old);
  Result<ValueId> wide(ValueId old, bool stays_stored = false);
  ValueId add_cast(ValueId now, DType to, Symbol loc);
  bool is_of_chain(ValueId old) const { return of_chains_.contains(key(old)); }
  bool is_cache(const Call& call, ValueId old, size_t operand) const {
    return reads_cache(*call.op, operand) && !is_of_chain(old);
  }
  void set_wide(ValueId old, ValueId now);

  Rewriter rewriter_;
  ConstantNodes constants_;
  const OpDef& cast_;
  std::map<Key, ValueId> wide_;   // per old value: it as f32
  std::set<Key> of_chains_;       // old values that are computed as f32
  std::set<Key> without_narrow_;  // those of them that no node has read in 16 bits so far
};

void Widener::set_wide(ValueId old, ValueId now) {
  wide_[key(old)] = now;
  of_chains_.insert(key(old));
  without_narrow_.insert(key(old));
}

ValueId Widener::add_cast(ValueId now, DType to, Symbol loc) {
  Function& function = rewriter_.to();
  const std::vector<TypeId> types{TensorType{to, function.type(now)->shape}};
  return {function.add_call(&cast_, intern({{"to", to}}), std::vector{now}, types, loc), 0};
}

// Returns the new value in the old one's dtype.
ValueId Widener::narrow(ValueId old) {
  if (without_narrow_.erase(key(old)) > 0)
    rewriter_.set(
        old, add_cast(wide_.at(key(old)), from().type(old)->dtype, from().nodes[old.node].loc));
  return rewriter_.map(old);
}

// Returns the new value as f32. `stays_stored`: a constant keeps its bits.
Result<ValueId> Widener::wide(ValueId old, bool stays_stored) {
  if (auto known = wide_.find(key(old)); known != wide_.end()) return known->second;
  const Node& node = from().nodes[old.node];
  ValueId now;
  auto* constant = std::get_if<Constant>(&node.kind);
  if (constant != nullptr && !stays_stored) {
    const TypeId in[] = {node.types[0]}, out[] = {widened(node.types[0])};
    const Buffer* data[] = {constant->data};
    BYOC_TRY(auto values, evaluate(cast_, {{"to", DType::kF32}}, in, out, data));
    now = constants_.add(values[0], out[0], node.loc);
  } else {
    now = add_cast(rewriter_.map(old), DType::kF32, node.loc);
  }
  wide_[key(old)] = now;
  return now;
}

Status Widener::copy(uint32_t node) {
  for (ValueId arg : from().args(from().nodes[node])) narrow(arg);
  rewriter_.copy(node);
  return {};
}

// Makes the op one on f32. Returns false when it has no such form.
Result<bool> Widener::widen(uint32_t k, const Call& call) {
  const Node& node = from().nodes[k];
  std::vector<TypeId> in, out;
  for (ValueId arg : from().args(node)) {
    const TypeId type = from().type(arg);
    in.push_back(is_cache(call, arg, in.size()) ? type : widened(type));
  }
  for (size_t output = 0; output < node.types.size(); ++output)
    out.push_back(widened(node.types[output]));
  Result<std::vector<TypeId>> types = infer_types(*call.op, in, *call.attrs);
  if (!types.ok() || *types != out) return false;
  std::vector<ValueId> args;
  for (size_t at = 0; at < from().args(node).size(); ++at) {
    const ValueId arg = from().args(node)[at];
    if (is_small(from().type(arg)) && !is_cache(call, arg, at)) {
      BYOC_TRY(ValueId now, wide(arg, is_stored_weight(from(), node, at)));
      args.push_back(now);
    } else {
      args.push_back(rewriter_.map(arg));
    }
  }
  const uint32_t now = rewriter_.to().add_call(call.op, call.attrs, args, out, node.loc);
  for (uint32_t output = 0; output < node.types.size(); ++output) {
    if (is_small(node.types[output])) set_wide({k, output}, {now, output});
    else rewriter_.set({k, output}, {now, output});
  }
  return true;
}

// Casts a value of a chain without rounding it first.
Result<bool> Widener::rewrite_cast(uint32_t k, const Call& call) {
  const Node& node = from().nodes[k];
  const ValueId x = from().args(node)[0];
  const DType to = node.types[0]->dtype;
  if (!is_of_chain(x)) return false;
  BYOC_TRY(ValueId now, wide(x));
  if (to == from().type(x)->dtype) {
    set_wide({k, 0}, now);
  } else if (to == DType::kF32) {
    rewriter_.set({k, 0}, now);
  } else {
    const std::vector<TypeId> types{node.types[0]};
    rewriter_.replace(
        k, rewriter_.to().add_call(call.op, call.attrs, std::vector{now}, types, node.loc));
  }
  return true;
}

// Dequantizes to f32, from the same codes and scales.
void Widener::rewrite_dequantize(uint32_t k, const Call& call) {
  const Node& node = from().nodes[k];
  for (ValueId arg : from().args(node)) narrow(arg);
  Attrs attrs = *call.attrs;
  attrs.set("to", DType::kF32);
  const std::vector<TypeId> types{widened(node.types[0])};
  set_wide({k, 0}, {rewriter_.to().add_call(call.op, intern(std::move(attrs)),
                                            rewriter_.mapped_args(k), types, node.loc),
                    0});
}

Status Widener::rewrite(uint32_t k) {
  const Node& node = from().nodes[k];
  auto* call = std::get_if<Call>(&node.kind);
  if (call == nullptr || writes_to_cache(*call->op)) return copy(k);
  if (call->op == &cast_) {
    BYOC_TRY(bool done, rewrite_cast(k, *call));
    return done ? Status() : copy(k);
  }
  if (call->op->facts.family == OpFamily::kDequantize && is_small(node.types[0])) {
    rewrite_dequantize(k, *call);
    return {};
  }
  bool has_small_result = false;
  for (size_t output = 0; output < node.types.size(); ++output)
    has_small_result = has_small_result || is_small(node.types[output]);
  const bool wants_chain =
      (has_small_result && !moves_elements(*call->op)) ||
      std::ranges::any_of(from().args(node), [&](ValueId arg) { return is_of_chain(arg); });
  if (!wants_chain) return copy(k);
  BYOC_TRY(bool done, widen(k, *call));
  return done ? Status() : copy(k);
}

Result<Function> Widener::run() && {
  for (uint32_t k = 0; k < from().nodes.size(); ++k) BYOC_TRY_STATUS(rewrite(k));
  for (ValueId result : from().results) narrow(result);
  return std::move(rewriter_).finish();
}

bool has_small_floats(const Function& function) {
  return std::ranges::any_of(function.nodes, [](const Node& node) {
    for (size_t k = 0; k < node.types.size(); ++k)
      if (is_small(node.types[k])) return true;
    return false;
  });
}

bool has_annotations(const Function& function) {
  return std::ranges::any_of(function.nodes, [](const Node& node) { return is_annotation(node); });
}

}  // namespace

Result<IRModule> widen_floats(IRModule module, const PassContext& context) {
  BYOC_TRY(const OpDef* cast, context.ops->get("cast"));
  for (auto& [name, function] : module.functions) {
    if (is_settled(function) || !has_small_floats(function) || has_annotations(function)) continue;
    BYOC_TRY(Function wide, Widener(module, function, *cast).run());
    function = std::move(wide);
  }
  return module;
}

}  // namespace byoc
