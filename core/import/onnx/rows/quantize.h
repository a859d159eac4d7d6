// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arithmetic that rows of quantised ops share.
#include "core/import/onnx/convert.h"

namespace byoc::onnx_import {

/// The part of x that one scale is for: all of it, one entry of an axis, or a block of its entries.
struct Grains {
  size_t axis = 0;
  int64_t block = 0;  // entries; 0: no blocks
  Shape x;
};

/// The way of a quantisation: its result type, the dtype that it divides in, and what is too large
/// for floats of 8 bits.
struct Quantising {
  int32_t to;
  DType precision = DType::kF32;
  bool saturate = true;
};

/// Reshapes a list of one value per entry of dim `axis` so that it broadcasts to rank `rank`, and
/// returns other values as they are. A list for a scalar is reshaped to one, an error of reshape.
ValueId along(Graph& graph, ValueId list, size_t axis, size_t rank);
/// Gives scales or zero points a shape that broadcasts to x: those of blocks are repeated.
ValueId spread(Graph& graph, ValueId list, const Grains& grains);
/// Reads axis and block_size. A wrong axis is an error only if there are scales along it.
Result<Grains> read_grains(Graph& graph, const OnnxNode& node);
/// Returns whether scale and zero point are what the op has: f32, and alike.
bool fits_op(Graph& graph, ValueId scale, Value zero_point, const Grains& grains);
/// Adds x - zero_point, integers in i32; `zero_point` may be absent.
ValueId shifted(Graph& graph, ValueId x, Value zero_point, const Grains& grains);
ValueId shifted(Graph& graph, ValueId x, Value zero_point, size_t axis);
/// Adds clip(round(x / scale) + zero_point) in steps, in the zero point's type.
Result<ValueId> quantized(Graph& graph, ValueId x, ValueId scale, ValueId zero_point, size_t axis);

/// Returns the op quantize of x, where it computes what is meant. Without a zero point ONNX's is 0.
Value as_quantize(Graph& graph, ValueId x, ValueId scale, Value zero_point, const Grains& grains,
                  const Quantising& how);
/// Returns the op dequantize of x, where it computes what is meant. Zero points of 0 are left out.
Value as_dequantize(Graph& graph, ValueId x, ValueId scale, Value zero_point, const Grains& grains);

/// Convert QuantizeLinear and DequantizeLinear, of ONNX and of ONNX Runtime.
Converted quantize_linear(Graph& graph, const OnnxNode& node);
Converted dequantize_linear(Graph& graph, const OnnxNode& node);

/// x as u8 with the scale and the zero point of its own range, which each run finds.
struct DynamicIntegers {
  ValueId x, scale, zero_point;
};
Result<DynamicIntegers> dynamically_quantized(Graph& graph, ValueId x);

/// Returns whether all elements are known to be 0.
bool is_zero(Graph& graph, ValueId value);
/// Returns true for integers of 8 and 16 bits.
bool is_small_integer(DType dtype);

}  // namespace byoc::onnx_import
