// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds chains of convolutions around depthwise ones, as inverted residuals have them (Sandler et
// al., MobileNetV2, 2018, section 3.3).
#include "plugins/llvm/families/family.h"

namespace byoc::llvm_plugin::chain {

/// Returns the chains of a function: a depthwise convolution with the convolutions of one pixel
/// each before and after it, or one of these. Roles: "before", "depthwise", "after".
///   before = conv2d_nchwc(x, weight), of one pixel each, then elementwise ops
///   depthwise = conv2d_nchwc(before, weight), of every channel with itself, then elementwise ops
///   after = conv2d_nchwc(depthwise, weight), of one pixel each
/// Images are static and of f32, windows have at most 7 rows and columns, and nodes but the last
/// have no reader outside. But for `anywhere`, each image that a depthwise convolution reads has
/// 1 MiB or more, as smaller ones stay in the second cache from one kernel to the next, and its
/// window after a convolution has at most half of the image's rows, as a row of results needs all
/// rows of a window.
std::vector<Match> find(const Function& function, bool anywhere = false);

}  // namespace byoc::llvm_plugin::chain
