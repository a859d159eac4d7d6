// SPDX-License-Identifier: Apache-2.0
#pragma once
// ONNX's numbers of element types, without ONNX's headers.
#include "byoc/base/dtype.h"

namespace byoc::onnx_import {

/// Returns "FLOAT16", or "type 23" for a number without a name.
std::string onnx_dtype_name(int32_t onnx_dtype);
/// Converts between dtypes and ONNX's numbers.
/// Errors: kUnimplemented, slug "onnx-unsupported", for types that byoc does not have (strings,
/// complex, 8-bit floats).
Result<DType> dtype_from_onnx(int32_t onnx_dtype);
int32_t dtype_to_onnx(DType dtype);

}  // namespace byoc::onnx_import
