// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operands and results of 8 bits in com.microsoft, as the ops dequantize and quantize.
#include "core/import/onnx/convert.h"

namespace byoc::onnx_import {

/// Integers with what makes real numbers of them.
struct Quantized {
  ValueId x, scale;
  Value zero_point;
  int64_t axis = 0;  // of a scale per entry
};

/// Returns inputs k, k + 1 and k + 2, of which the last one may be omitted.
Quantized quantized_input(Graph& graph, size_t k);
/// Adds (x - zero_point) * scale. Errors: kInvalidArgument for types that dequantize does not have.
Result<ValueId> dequantized(Graph& graph, const Quantized& from);
/// Adds y in integers of 8 bits. Without a zero point they are of type `dtype`.
/// Errors: kInvalidArgument for types that quantize does not have.
Result<ValueId> requantized(Graph& graph, ValueId y, ValueId scale, Value zero_point, DType dtype);
/// Returns whether a scale or a zero point is one value.
bool is_one_value(Graph& graph, ValueId value);

}  // namespace byoc::onnx_import
