// SPDX-License-Identifier: Apache-2.0
#pragma once
// Element types as ONNX numbers them, without ONNX's headers.
#include "byoc/base/dtype.h"

namespace byoc::onnx_import {

/// "FLOAT16", or "type 23" for a number without a name.
std::string onnx_dtype_name(int32_t onnx_dtype);
/// Errors: kUnimplemented, slug "onnx-unsupported", for dtypes byoc has not (strings, complex,
/// 8-bit floats).
Result<DType> dtype_from_onnx(int32_t onnx_dtype);
int32_t dtype_to_onnx(DType dtype);

}  // namespace byoc::onnx_import
