// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/tiling/access.h"

#include <algorithm>

#include "byoc/base/check.h"
#include "byoc/te/simplify.h"
#include "plugins/llvm/analysis/walk.h"

namespace byoc::llvm_plugin::topi {

bool has_var(const te::Expr& x, const te::Var& var) {
  bool out = false;
  Seen seen;
  walk_expr(x, seen, [&](const te::Expr& inner) {
    auto* ref = std::get_if<te::VarRef>(&inner->kind);
    out = out || (ref && ref->var == var);
  });
  return out;
}

std::optional<int64_t> coefficient_of(const te::Expr& x, const te::Var& var) {
  if (auto* ref = std::get_if<te::VarRef>(&x->kind)) return ref->var == var ? 1 : 0;
  if (!has_var(x, var)) return 0;
  auto* binary = std::get_if<te::Binary>(&x->kind);
  if (binary == nullptr) return std::nullopt;
  auto a = coefficient_of(binary->a, var), b = coefficient_of(binary->b, var);
  if (!a || !b) return std::nullopt;
  if (binary->op == te::BinaryOp::kAdd) return *a + *b;
  if (binary->op == te::BinaryOp::kSubtract) return *a - *b;
  if (binary->op != te::BinaryOp::kMultiply) return std::nullopt;
  if (auto factor = te::as_int(binary->b)) return *a * *factor;
  if (auto factor = te::as_int(binary->a)) return *b * *factor;
  return std::nullopt;
}

std::vector<const te::Load*> loads_of(const te::Compute& compute) {
  std::vector<const te::Load*> out;
  Seen seen;
  for (const te::Expr& value : compute.values) {
    walk_expr(value, seen, [&](const te::Expr& x) {
      if (auto* load = std::get_if<std::shared_ptr<const te::Load>>(&x->kind))
        out.push_back(load->get());
    });
  }
  return out;
}

std::optional<te::Expr> offset_of(const te::Load& load) {
  BYOC_CHECK(load.indices.size() == load.tensor.rank(), "tensor ", load.tensor.name(), " has rank ",
             load.tensor.rank(), " and is read by ", load.indices.size(), " indices");
  te::Expr offset = 0;
  int64_t step = 1;
  for (size_t k = load.indices.size(); k-- > 0;) {
    auto extent = te::as_int(load.tensor.shape()[k]);
    if (!extent) return std::nullopt;
    offset = offset + load.indices[k] * step;
    step *= *extent;
  }
  return offset;
}

// Returns the stride of all indices as one, in elements; divisions that split pixels
// cancel out in it.
std::optional<int64_t> stride_of(const te::Load& load, const te::Var& var) {
  std::optional<te::Expr> offset = offset_of(load);
  return offset ? coefficient_of(te::simplify(*offset), var) : std::nullopt;
}

bool reads_each_once(const te::Compute& compute) {
  for (const te::Load* load : loads_of(compute)) {
    for (const te::Axis& axis : compute.axes) {
      if (extent_of(axis) != 1 && stride_of(*load, axis.var) == 0) return false;
    }
  }
  return true;
}

bool is_elementwise(const te::Load& load, const std::vector<te::Axis>& axes) {
  if (load.indices.size() != axes.size()) return false;
  for (size_t k = 0; k < axes.size(); ++k) {
    auto* ref = std::get_if<te::VarRef>(&load.indices[k]->kind);
    bool is_one = te::as_int(axes[k].extent) == 1 && te::as_int(load.indices[k]) == 0;
    if (!is_one && (!ref || !(ref->var == axes[k].var))) return false;
  }
  return true;
}

namespace {

// Returns true where a load reads element i for element i of `axes`, or one element for all.
bool is_in_order(const te::Load& load, const std::vector<te::Axis>& axes) {
  te::Ranges ranges;
  for (const te::Axis& axis : axes) ranges[axis.var.id()] = {0, extent_of(axis) - 1};
  const std::optional<te::Expr> offset = offset_of(load);
  if (!offset) return false;
  const te::Expr place = te::simplify(*offset, ranges);
  int64_t step = 1;
  bool moves = true, stays = true;
  for (size_t k = axes.size(); k-- > 0; step *= extent_of(axes[k])) {
    if (extent_of(axes[k]) < 1) return false;
    if (extent_of(axes[k]) == 1) continue;
    const std::optional<int64_t> by = coefficient_of(place, axes[k].var);
    moves = moves && by == step;
    stays = stays && by == 0;
  }
  return moves || stays;
}

// Additions of integers take as little as the address that they become.
bool is_light(const te::Expr& x, const std::vector<te::Axis>& axes) {
  if (const auto* load = std::get_if<std::shared_ptr<const te::Load>>(&x->kind))
    return is_in_order(**load, axes);
  if (std::holds_alternative<te::IntImm>(x->kind)) return true;
  if (std::holds_alternative<te::FloatImm>(x->kind)) return true;
  if (!is_int(x.dtype())) return false;
  if (const auto* cast = std::get_if<te::Cast>(&x->kind)) return is_light(cast->x, axes);
  const auto* binary = std::get_if<te::Binary>(&x->kind);
  constexpr te::BinaryOp kLight[] = {te::BinaryOp::kAdd, te::BinaryOp::kSubtract,
                                     te::BinaryOp::kAnd, te::BinaryOp::kShiftRight};
  return binary != nullptr && std::ranges::find(kLight, binary->op) != std::end(kLight) &&
         is_light(binary->a, axes) && is_light(binary->b, axes);
}

}  // namespace

bool keeps_order(const te::Compute& compute) {
  return compute.reduce.empty() && compute.values.size() == 1 &&
         is_light(compute.values[0], compute.axes);
}

int registers_of_products(const te::Compute& compute) {
  if (compute.reduce.empty()) return 0;
  bool saturates = false;
  Seen seen;
  for (const te::Expr& value : compute.values) {
    walk_expr(value, seen, [&](const te::Expr& x) {
      auto* binary = std::get_if<te::Binary>(&x->kind);
      saturates = saturates || (binary != nullptr && binary->op == te::BinaryOp::kMin &&
                                x.dtype() == DType::kI32 && te::as_int(binary->b) == INT16_MAX);
    });
  }
  if (saturates) return 2;
  return std::ranges::any_of(
      loads_of(compute), [](const te::Load* load) { return load->tensor.dtype() == DType::kI16; });
}

bool reads_inputs_alone(const te::Dag& dag, const te::Procedure& procedure) {
  return std::ranges::all_of(procedure.inputs, [&](const te::Tensor& tensor) {
    return std::ranges::find(dag.inputs, tensor) != dag.inputs.end();
  });
}

const te::Compute* compute_of(const te::Stage& stage) {
  return std::get_if<te::Compute>(&stage.kind);
}

int64_t extent_at(const te::Stage& stage, size_t dim) {
  return te::as_int(stage.outputs[0].shape()[dim]).value_or(0);
}

bool has_shape_of(const te::Stage& a, const te::Stage& b) {
  return std::ranges::equal(a.outputs[0].shape(), b.outputs[0].shape(), te::structural_equal);
}

int64_t extent_of(const te::Axis& axis) { return te::as_int(axis.extent).value_or(-1); }

int64_t elements_of(const te::Tensor& tensor) {
  int64_t out = 1;
  for (const te::Expr& extent : tensor.shape()) out *= te::as_int(extent).value_or(1);
  return out;
}

int64_t work_of(const te::Compute& compute) {
  int64_t out = 1;
  Seen seen;
  for (const te::Expr& value : compute.values) {
    walk_expr(value, seen, [&](const te::Expr& x) {
      if (x.dtype() == DType::kI64) return;  // indices
      auto* unary = std::get_if<te::Unary>(&x->kind);
      auto* binary = std::get_if<te::Binary>(&x->kind);
      bool is_function = (unary && unary->op >= te::UnaryOp::kExp) ||
                         (binary && binary->op == te::BinaryOp::kPower);
      if (is_function) out += kFunctionWork;
      else if (unary || binary) ++out;
    });
  }
  return out;
}

}  // namespace byoc::llvm_plugin::topi
