// SPDX-License-Identifier: Apache-2.0
#pragma once
// The convolution that Conv, ConvInteger and QLinearConv share.
#include "core/import/onnx/convert.h"

namespace byoc::onnx_import {

/// Adds the convolution of x and weight with the node's strides, pads, ..., without a bias.
Result<ValueId> add_conv(Graph& graph, const OnnxNode& node, ValueId x, ValueId weight);
/// Adds y + bias. The bias [c], one value per channel, is reshaped to [c, 1...] so that it
/// broadcasts over the spatial dims.
ValueId add_bias(Graph& graph, ValueId y, ValueId bias);

}  // namespace byoc::onnx_import
