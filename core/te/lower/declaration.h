// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads the declaration of a TensorIntrin for matching.
#include "byoc/te/tensor.h"

namespace byoc::te {

/// Returns the compute of a declaration that check_declaration has accepted.
const Compute& compute_of(const TensorIntrin& intrin);
const Tensor& output_of(const TensorIntrin& intrin);
/// Returns its axes, then its reduce axes.
std::vector<Axis> axes_of(const TensorIntrin& intrin);
/// Returns the value that one iteration stores, by the axes' variables: the value itself, or the
/// combiner's result.
Expr stored_value(const TensorIntrin& intrin);
/// Returns the variables at which each place is read or written, inputs first: one per dimension.
std::vector<std::vector<Var>> place_axes(const TensorIntrin& intrin);

}  // namespace byoc::te
