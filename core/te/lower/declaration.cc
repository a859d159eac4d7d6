// SPDX-License-Identifier: Apache-2.0
#include "core/te/lower/declaration.h"

#include <algorithm>
#include <map>

#include "byoc/te/rewrite.h"
#include "core/te/lower/tensorize.h"

namespace byoc::te {
namespace {

constexpr size_t kMaxAxes = 6;  // all orders of them are tried

// Collects the loads of an expression, and checks that variables occur only in their indices.
class Loads {
 public:
  std::map<const void*, Exprs> indices;  // by tensor, as it was first read
  bool is_plain = true;                  // every tensor read at one place, by axes alone

  Expr operator()(const Expr& x) {
    if (std::holds_alternative<VarRef>(x->kind)) is_plain = false;
    const auto* load = std::get_if<std::shared_ptr<const Load>>(&x->kind);
    if (load == nullptr) return map_operands(x, *this);
    auto [known, is_new] = indices.try_emplace((*load)->tensor.id(), (*load)->indices);
    for (size_t k = 0; k < known->second.size(); ++k) {
      const Expr& index = (*load)->indices[k];
      is_plain = is_plain && std::holds_alternative<VarRef>(index->kind) &&
                 structural_equal(index, known->second[k]);
      for (size_t j = 0; j < k; ++j)
        is_plain = is_plain && !structural_equal(index, (*load)->indices[j]);
    }
    return x;
  }
};

const Stage* compute_stage(const TensorIntrin& intrin) {
  const Stage* out = nullptr;
  for (const Stage& stage : intrin.dag.stages) {
    if (std::holds_alternative<Placeholder>(stage.kind)) continue;
    if (out || !std::holds_alternative<Compute>(stage.kind)) return nullptr;
    out = &stage;
  }
  bool has_one = out && out->outputs.size() == 1 && intrin.dag.outputs == out->outputs;
  return has_one ? out : nullptr;
}

bool is_extent(const Axis& axis) {
  const std::optional<int64_t> number = as_int(axis.extent);
  return number ? *number > 1 : std::holds_alternative<VarRef>(axis.extent->kind);
}

bool has_fitting_strides(const TensorIntrin& intrin) {
  if (intrin.strides.empty()) return true;
  const std::vector<std::vector<Var>> places = place_axes(intrin);
  if (intrin.strides.size() != places.size()) return false;
  for (size_t k = 0; k < places.size(); ++k) {
    if (intrin.strides[k].size() != places[k].size()) return false;
  }
  return true;
}

}  // namespace

const Compute& compute_of(const TensorIntrin& intrin) {
  return std::get<Compute>(compute_stage(intrin)->kind);
}

const Tensor& output_of(const TensorIntrin& intrin) { return intrin.dag.outputs[0]; }

std::vector<Axis> axes_of(const TensorIntrin& intrin) {
  std::vector<Axis> out = compute_of(intrin).axes;
  const std::vector<Axis>& reduce = compute_of(intrin).reduce;
  out.insert(out.end(), reduce.begin(), reduce.end());
  return out;
}

Expr stored_value(const TensorIntrin& intrin) {
  const Compute& compute = compute_of(intrin);
  if (compute.reduce.empty()) return compute.values[0];
  Exprs axes;
  for (const Axis& axis : compute.axes) axes.push_back(axis.var);
  Substitution substitute({{compute.combiner.lhs[0].id(), output_of(intrin)(axes)},
                           {compute.combiner.rhs[0].id(), compute.values[0]}});
  return substitute(compute.combiner.result[0]);
}

std::vector<std::vector<Var>> place_axes(const TensorIntrin& intrin) {
  Loads loads;
  loads(compute_of(intrin).values[0]);
  std::vector<std::vector<Var>> out;
  for (const Tensor& input : intrin.dag.inputs) {
    std::vector<Var>& vars = out.emplace_back();
    for (const Expr& index : loads.indices[input.id()])
      vars.push_back(std::get<VarRef>(index->kind).var);
  }
  std::vector<Var>& vars = out.emplace_back();
  for (const Axis& axis : compute_of(intrin).axes) vars.push_back(axis.var);
  return out;
}

Status check_declaration(const TensorIntrin& intrin) {
  auto wrong = [&](std::string_view why) {
    return invalid(cat("micro-kernel ", intrin.name, " is declared wrongly: ", why));
  };
  if (compute_stage(intrin) == nullptr) return wrong("it is not one compute of one output");
  const std::vector<Axis> axes = axes_of(intrin);
  if (axes.empty() || axes.size() > kMaxAxes || !std::all_of(axes.begin(), axes.end(), is_extent))
    return wrong("it needs 1 to 6 axes, of extents above 1 or variables");
  Loads loads;
  loads(compute_of(intrin).values[0]);
  if (!loads.is_plain)
    return wrong("a tensor is read at two places, or an axis is used other than as an index");
  bool reads_all = loads.indices.size() == intrin.dag.inputs.size();
  for (const Tensor& input : intrin.dag.inputs)
    reads_all = reads_all && loads.indices.contains(input.id());
  if (!reads_all) return wrong("it does not read each of its inputs");
  if (!has_fitting_strides(intrin)) return wrong("its strides are not one per place and dimension");
  return {};
}

}  // namespace byoc::te
