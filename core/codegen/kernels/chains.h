// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds chains of convolutions around depthwise ones, as inverted residuals have them (Sandler et
// al., MobileNetV2, 2018, section 3.3).
#include <vector>

#include "byoc/ir/module.h"

namespace byoc {

/// A depthwise convolution with the convolutions of one pixel each before and after it, or one of
/// these:
///   before = conv2d_nchwc(x, weight), of one pixel each, then elementwise ops
///   depthwise = conv2d_nchwc(before, weight), of every channel with itself, then elementwise ops
///   conv2d_nchwc(depthwise, weight), of one pixel each
struct Chain {
  uint32_t last = 0;             ///< the node of its last convolution
  std::vector<uint32_t> others;  ///< its other nodes
};

/// Returns the chains of a function, which may be annotated; they have no nodes in common. Each
/// image that the depthwise convolution reads is static, of f32, and of 1 MiB or more: smaller ones
/// stay in the second cache from one kernel to the next. Windows have at most 7 rows and columns,
/// and after a convolution at most half of the image's rows, as a row of results needs those of a
/// window. Nodes but the last have no reader outside. Cost: linear.
std::vector<Chain> find_chains(const Function& function);

}  // namespace byoc
