// SPDX-License-Identifier: Apache-2.0
#include "core/tools/rounding/moved_rounding.h"

#include <algorithm>
#include <optional>

#include "byoc/base/check.h"
#include "byoc/ir/visit.h"
#include "byoc/op/registry.h"
#include "byoc/te/module.h"
#include "core/tools/rounding/value_steps.h"

namespace byoc::driver {
namespace {

constexpr int64_t kLeastElements = 4096;  // of a pattern of moves, where the value has as many
constexpr uint64_t kOneIn = 64;

/// Returns a well mixed number: the finaliser of splitmix64.
uint64_t mixed(uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

/// Returns the shape of the moves: trailing dims, after dims of 1.
std::vector<int64_t> moved_dims(const Shape& shape) {
  std::vector<int64_t> dims = static_extents(shape);
  int64_t elements = 1;
  for (size_t k = dims.size(); k-- > 0;) {
    if (elements >= kLeastElements) dims[k] = 1;
    elements *= dims[k];
  }
  return dims;
}

std::shared_ptr<const Buffer> moves(int64_t elements, uint64_t seed, Moved which) {
  std::vector<float> out(static_cast<size_t>(elements));
  for (size_t k = 0; k < out.size(); ++k) {
    const uint64_t random = mixed(seed * 0x100000001 + k);
    const bool is_moved = which == Moved::kLast || (random >> 1) % kOneIn == 0;
    if (is_moved) out[k] = (random & 1) != 0 ? 1.0F : -1.0F;
  }
  // A single value, such as a zero point, shifts all others: it stays.
  const bool has_none = std::ranges::all_of(out, [](float move) { return move == 0; });
  if (has_none && elements > 1) out[mixed(seed) % out.size()] = 1;
  return Buffer::copy(std::as_bytes(std::span(out)));
}

class Mover {
 public:
  Mover(IRModule& module, const Function& from, Moved which, uint64_t seed)
      : module_(module),
        rewriter_(from),
        which_(which),
        seed_(seed),
        leads_to_rounding_(from.nodes.size()),
        moved_(from.nodes.size()) {}

  Function run() && {
    const Function& from = rewriter_.from();
    find_ways();
    for (uint32_t k = 0; k < from.nodes.size(); ++k) {
      copy(k);
      if (is_rounding(from, k) && is_static(from.nodes[k].types[0]->shape)) move(k);
    }
    std::vector<ValueId> results;
    for (ValueId result : from.results) {
      const bool is_moved = which_ == Moved::kLast && moved_[result.node];
      results.push_back(is_moved ? *moved_[result.node] : rewriter_.map(result));
    }
    Function out = std::move(rewriter_).finish();
    out.results = std::move(results);
    return out;
  }

 private:
  /// Marks nodes whose results are rounded, or are operands of marked nodes. A call of a function
  /// may round.
  void find_ways() {
    const Function& from = rewriter_.from();
    for (auto k = static_cast<uint32_t>(from.nodes.size()); k-- > 0;) {
      const Node& node = from.nodes[k];
      const bool rounds_here = is_rounding(from, k) || !std::holds_alternative<Call>(node.kind);
      if (!rounds_here && !leads_to_rounding_[k]) continue;
      leads_to_rounding_[k] = true;
      for (ValueId arg : from.args(node)) leads_to_rounding_[arg.node] = true;
    }
  }

  void copy(uint32_t k) {
    const Function& from = rewriter_.from();
    const bool leads = is_rounding(from, k) || leads_to_rounding_[k];
    std::vector<ValueId> args;
    for (ValueId arg : from.args(from.nodes[k])) {
      const bool is_moved = moved_[arg.node] && leads == (which_ == Moved::kSome);
      args.push_back(is_moved ? *moved_[arg.node] : rewriter_.map(arg));
    }
    rewriter_.replace(k, rewriter_.to().add_copy(from.nodes[k], args));
  }

  void move(uint32_t k) {
    const TypeId type = rewriter_.from().nodes[k].types[0];
    const std::vector<int64_t> dims = moved_dims(type->shape);
    int64_t elements = 1;
    for (int64_t dim : dims) elements *= dim;
    if (elements == 0) return;
    const ValueId by =
        constant({DType::kF32, make_shape(dims)}, moves(elements, seed_ + k, which_));
    const ValueId rounded = rewriter_.map({k, 0});
    const TensorType floats{DType::kF32, type->shape};
    if (is_float(type->dtype)) {
      moved_[k] = call("add", {rounded, by}, *type);
      return;
    }
    const float one = 1;
    const ValueId scale =
        constant({DType::kF32, {}}, Buffer::copy(std::as_bytes(std::span(&one, 1))));
    const uint16_t nothing = 0;
    const auto zero_bytes = std::as_bytes(std::span(&nothing, 1)).first(dtype_size(type->dtype));
    const ValueId zero = constant({type->dtype, {}}, Buffer::copy(zero_bytes));
    const ValueId steps = call("add", {call("dequantize", {rounded, scale}, floats), by}, floats);
    moved_[k] = call("quantize", {steps, scale, zero}, *type);
  }

  ValueId constant(const TensorType& type, std::shared_ptr<const Buffer> data) {
    return {rewriter_.to().add_constant(module_.add_constant(std::move(data)), type), 0};
  }

  ValueId call(std::string_view name, const std::vector<ValueId>& args, const TensorType& type) {
    const OpDef* op = all_ops().find(name);
    BYOC_CHECK(op != nullptr, "no op ", name);
    Result<Attrs> attrs = complete_attrs(*op, {});
    BYOC_CHECK(attrs.ok(), name, ": ", attrs.status().to_string());
    return {rewriter_.to().add_call(op, intern(*std::move(attrs)), args, TypeId(type)), 0};
  }

  IRModule& module_;
  Rewriter rewriter_;
  const Moved which_;
  const uint64_t seed_;
  std::vector<bool> leads_to_rounding_;        // of each node: its results are rounded again
  std::vector<std::optional<ValueId>> moved_;  // of each node that rounds
};

}  // namespace

IRModule with_moved_rounding(IRModule module, Moved which) {
  uint64_t seed = 0;
  for (auto& [name, function] : module.functions) {
    seed += uint64_t{1} << 32;
    if (function.attrs.has("composite") || te::has_loops(function)) continue;
    const Function from = std::move(function);
    function = Mover(module, from, which, seed).run();
  }
  return module;
}

}  // namespace byoc::driver
