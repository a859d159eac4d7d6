// SPDX-License-Identifier: Apache-2.0
#pragma once
// The convolution that Conv, ConvInteger and QLinearConv have in common.
#include "core/import/onnx/convert.h"

namespace byoc::onnx_import {

/// x * weight with the node's strides, pads, ...; no bias.
Result<ValueId> add_conv(Graph& graph, const OnnxNode& node, ValueId x, ValueId weight);
/// y + bias, where the bias [c] stands as [c, 1...] so that it broadcasts over the spatial dims.
ValueId add_bias(Graph& graph, ValueId y, ValueId bias);

}  // namespace byoc::onnx_import
