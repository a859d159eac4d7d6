// SPDX-License-Identifier: Apache-2.0
// Rounds the matrices of products to f16 or bf16, by the option `precision`:
//   before: %0 = matmul(%x, %w)          with %w: f32[768,3072] = const
//   after:  %0 = cast(%w16) {to=f32}     with %w16: f16[768,3072] = const
//           %1 = matmul(%x, %0)
// fold_constants keeps such a cast until plugins have chosen. A matrix that is read as it is stored
// has half the bytes, in the artifact and from memory; arithmetic stays in f32. Matrices with a
// number that f16 does not have, beyond 65504, stay as they are.
#include <algorithm>
#include <cmath>
#include <map>

#include "byoc/op/evaluate.h"
#include "byoc/op/registry.h"
#include "byoc/pass/simplify.h"
#include "core/simplify/functions.h"

namespace byoc {
namespace {

using namespace simplify;

constexpr float kLargestF16 = 65504;

/// Returns the matrix that the node multiplies by, if it is a constant that is worth rounding.
std::optional<ValueId> matrix_of(const Function& function, const Node& node) {
  const Call* call = std::get_if<Call>(&node.kind);
  if (call == nullptr) return std::nullopt;
  const OpFacts& facts = call->op->facts;
  if (facts.family != OpFamily::kProduct || !facts.is_plain || facts.weight < 0)
    return std::nullopt;
  const ValueId weight = function.args(node)[static_cast<size_t>(facts.weight)];
  const TypeId type = function.type(weight);
  const Result<int64_t> count = num_elements(type->shape);
  const bool is_large =
      type->dtype == DType::kF32 && type->shape.size() == 2 && count.ok() && *count >= kLeastStored;
  return is_large && is_constant(function.nodes[weight.node]) ? std::optional(weight)
                                                              : std::nullopt;
}

bool fits(const Buffer& data, DType to) {
  if (to == DType::kBF16) return true;
  const auto* numbers = reinterpret_cast<const float*>(data.data());
  return std::all_of(numbers, numbers + data.size() / sizeof(float),
                     [](float x) { return !(std::abs(x) > kLargestF16); });
}

class WeightRounder {
 public:
  WeightRounder(IRModule& module, const Function& function, const OpDef& cast, DType to)
      : rewriter_(function), constants_(module, rewriter_.to()), cast_(cast), to_(to) {}

  Result<Function> run() && {
    const Function& from = rewriter_.from();
    std::map<uint32_t, uint32_t> matrices;  // constants: how many products read them
    for (const Node& node : from.nodes) {
      if (const auto matrix = matrix_of(from, node)) ++matrices[matrix->node];
    }
    const UseCounts uses(from);
    for (uint32_t k = 0; k < from.nodes.size(); ++k) {
      const auto matrix = matrices.find(k);
      bool is_rounded = false;
      if (matrix != matrices.end() && matrix->second == uses.of_node(k)) {
        BYOC_TRY(is_rounded, round(k));
      }
      if (!is_rounded) rewriter_.copy(k);
    }
    return std::move(rewriter_).finish();
  }

 private:
  /// Returns false for a constant that stays as it is.
  Result<bool> round(uint32_t k) {
    const Node& node = rewriter_.from().nodes[k];
    const Buffer* data[] = {std::get<Constant>(node.kind).data};
    if (!fits(*data[0], to_)) return false;
    const TypeId in[] = {node.types[0]};
    const TypeId out[] = {TensorType{to_, node.types[0]->shape}};
    BYOC_TRY(auto values, evaluate(cast_, {{"to", to_}}, in, out, data));
    const ValueId stored = constants_.add(values[0], out[0], node.loc);
    const uint32_t wide = rewriter_.to().add_call(
        &cast_, intern({{"to", DType::kF32}}), std::vector{stored}, std::vector{in[0]}, node.loc);
    rewriter_.replace(k, wide);
    return true;
  }

  Rewriter rewriter_;
  ConstantNodes constants_;
  const OpDef& cast_;
  const DType to_;
};

}  // namespace

Result<IRModule> round_weights(IRModule module, const PassContext& context) {
  const std::string precision = context.option("precision");
  if (precision == "f32") return module;
  if (precision != "f16" && precision != "bf16")
    return invalid(cat("precision is f32, f16 or bf16, not \"", precision, "\""))
        .with_slug("usage");
  const DType to = precision == "f16" ? DType::kF16 : DType::kBF16;
  BYOC_TRY(const OpDef* cast, context.ops->get("cast"));
  for (auto& [name, function] : module.functions) {
    if (is_settled(function)) continue;
    BYOC_TRY(Function rounded, WeightRounder(module, function, *cast, to).run());
    function = std::move(rounded);
  }
  return module;
}

}  // namespace byoc
