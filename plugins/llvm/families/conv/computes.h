// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "plugins/llvm/families/calls.h"

namespace byoc::llvm_plugin::conv {

/// Appends "pointwise" for convolutions of f32, in blocked layouts or plain, that read one pixel
/// each; "pointwise_joined" for those with blocks of half a vector and constant weights, and
/// "joined" for other convolutions with such blocks; "flat" (flat.h) for volumes.
void add_computes(const FamilyCall& call, Strategies& out);

/// Returns true for a convolution of one group whose constant weights have blocks of half a vector.
bool may_join(const te::Site& site);
/// Appends a compute whose sums have the lanes of two blocks:
///   y[n, o, h, w, b] = sums[n, o / 2, h, w, o % 2 * lanes + b]
void add_joined(const te::Site& site, Strategies& out);

}  // namespace byoc::llvm_plugin::conv
