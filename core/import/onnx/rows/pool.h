// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pools that ONNX's operators and ONNX Runtime's share.
#include "core/import/onnx/convert.h"

namespace byoc::onnx_import {

/// Adds the pool of x [n, c, spatial...] with the node's kernel_shape, strides, pads, ...
Result<ValueId> add_average_pool(Graph& graph, const OnnxNode& node, ValueId x);
Result<ValueId> add_max_pool(Graph& graph, const OnnxNode& node, ValueId x);

}  // namespace byoc::onnx_import
