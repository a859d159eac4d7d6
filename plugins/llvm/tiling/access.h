// SPDX-License-Identifier: Apache-2.0
#pragma once
// Describes how a stage reads its operands, as input for schedules.
#include <optional>
#include <vector>

#include "byoc/te/tensor.h"

namespace byoc::llvm_plugin::topi {

inline constexpr int64_t kFunctionWork = 20;  // of an exp and the like, against 1 of an addition

/// Returns the distinct loads in the values of a stage.
std::vector<const te::Load*> loads_of(const te::Compute& compute);
/// Returns the place of a load in elements; nullopt: the tensor's shape is not known.
std::optional<te::Expr> offset_of(const te::Load& load);
bool has_var(const te::Expr& x, const te::Var& var);
/// Returns the number by which `x` grows when `var` goes up by one; nullopt: not constant.
std::optional<int64_t> coefficient_of(const te::Expr& x, const te::Var& var);
/// Returns the number of elements by which the place of `load` moves when `var` goes up by one;
/// nullopt: not constant.
std::optional<int64_t> stride_of(const te::Load& load, const te::Var& var);
/// Returns true when no element is read for several results, as products read them.
bool reads_each_once(const te::Compute& compute);
/// Returns true when every index is the axis of the same number: element i reads element i.
bool is_elementwise(const te::Load& load, const std::vector<te::Axis>& axes);
/// Returns true when a stage has one value, or the elements of other tensors in the same order and
/// nothing but additions of integers, as a reshape and checked indices have: whatever reads the
/// stage may read the other tensors in its place.
bool keeps_order(const te::Compute& compute);

/// Returns the registers that a sum of products of integers of 8 bits takes beside its operands,
/// where no instruction adds four products of bytes: one for a product of two i16, two for one of
/// bytes, whose pairs are added as i16 and then multiplied by 1.
int registers_of_products(const te::Compute& compute);

/// Returns true when the procedure reads inputs of the Dag alone. Such a procedure, for example a
/// check of indices, stays a nest of its own whatever is tiled.
bool reads_inputs_alone(const te::Dag& dag, const te::Procedure& procedure);

int64_t extent_of(const te::Axis& axis);  // -1: no number
/// Returns what a stage computes by one expression per element; null for other stages.
const te::Compute* compute_of(const te::Stage& stage);
/// Returns an extent of a stage's outputs; 0: no number.
int64_t extent_at(const te::Stage& stage, size_t dim);
bool has_shape_of(const te::Stage& a, const te::Stage& b);
int64_t elements_of(const te::Tensor& tensor);
/// Returns the operations per element: nodes of the values that compute; those of libm's
/// kind count more.
int64_t work_of(const te::Compute& compute);

}  // namespace byoc::llvm_plugin::topi
