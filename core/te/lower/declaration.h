// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a TensorIntrin says, read for matching.
#include "byoc/te/tensor.h"

namespace byoc::te {

/// The compute of a declaration that check_declaration has passed.
const Compute& compute_of(const TensorIntrin& intrin);
const Tensor& output_of(const TensorIntrin& intrin);
/// Its axes, then its reduce axes.
std::vector<Axis> axes_of(const TensorIntrin& intrin);
/// What one iteration stores, by the axes' variables: the value, or what the combiner makes of it.
Expr stored_value(const TensorIntrin& intrin);
/// The variables at which each place is read or written, inputs first: one per dimension.
std::vector<std::vector<Var>> place_axes(const TensorIntrin& intrin);

}  // namespace byoc::te
