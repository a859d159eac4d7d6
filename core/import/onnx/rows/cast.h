// SPDX-License-Identifier: Apache-2.0
#pragma once
// Conversions between element types, also those that the IR lacks.
#include "core/import/onnx/convert.h"

namespace byoc::onnx_import {

/// The rules by which numbers become a type of few bits.
struct Narrowing {
  bool saturate = true;         // floats that are too large become the greatest one
  std::string rounding = "up";  // to FLOAT8E8M0
};

/// Returns the elements as numbers: f32 for codes of floats, all others as they are.
ValueId numbers_of(Graph& graph, ValueId x);
/// Converts x to ONNX's element type `onnx_dtype`.
Result<ValueId> cast_to_onnx(Graph& graph, ValueId x, int32_t onnx_dtype, const Narrowing& how);
/// Returns ONNX's element type of a value.
int32_t onnx_dtype_of(Graph& graph, ValueId x);

}  // namespace byoc::onnx_import
