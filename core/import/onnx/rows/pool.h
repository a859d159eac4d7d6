// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pools that ONNX's operators and ONNX Runtime's share.
#include "core/import/onnx/convert.h"

namespace byoc::onnx_import {

/// Adds the pool of x [n, c, spatial...] with the node's kernel_shape, strides, pads, ...
/// `counts_past_end`: with count_include_pad, cells count, too, that ceil_mode adds after the pads.
Result<ValueId> add_average_pool(Graph& graph, const OnnxNode& node, ValueId x,
                                 bool counts_past_end = false);
Result<ValueId> add_max_pool(Graph& graph, const OnnxNode& node, ValueId x);

}  // namespace byoc::onnx_import
