// SPDX-License-Identifier: Apache-2.0
#pragma once
// The product of integers as a float that MatMulIntegerToFloat and QAttention share.
#include "core/import/onnx/microsoft/quantized.h"

namespace byoc::onnx_import {

/// Adds a b + bias as floats. The scale and the zero point of b are one value, or one per column.
/// The result has the type of a's scale. Errors: those of `dequantized`.
Result<ValueId> product_of_quantized(Graph& graph, const Quantized& a, const Quantized& b,
                                     Value bias);

}  // namespace byoc::onnx_import
