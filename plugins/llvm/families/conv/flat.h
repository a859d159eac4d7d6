// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "plugins/llvm/families/calls.h"
#include "plugins/llvm/topi/tiled.h"

namespace byoc::llvm_plugin::conv {

/// The compute of convolutions of volumes whose windows have one cell along the last two axes, as
/// those over time have: both axes are one in the sums, so that vectors do not end with each row.
///   y[n, o, d, h, w] = sums[n, o, d, h * width + w]
inline constexpr const char* kFlatCompute = "flat";
/// Appends it for convolutions of f32 and one group with constant extents.
void add_flat(const te::Site& site, Strategies& out);
/// Returns the tilings of its sums: outputs by vectors of cells.
std::optional<topi::TilingTemplate> flat_tiling(const te::Stage& anchor, const te::Target& target);

}  // namespace byoc::llvm_plugin::conv
