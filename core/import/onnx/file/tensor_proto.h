// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads and writes TensorProto: all dtypes of byoc, packed and raw, in the file or external.
#include <onnx/onnx_pb.h>

#include <memory>

#include "byoc/base/external.h"
#include "byoc/ir/type.h"
#include "core/import/onnx/file/dtypes.h"
#include "core/import/onnx/file/external_data.h"

namespace byoc::onnx_import {

/// Returns the type after a check that the data has exactly the size of the type, so that callers
/// allocate no more than the file has. Errors name the tensor.
Result<TensorSpec> tensor_spec(const onnx::TensorProto& tensor, const ExternalFolder& folder);
/// Writes the elements to `out`, compact and row-major. `spec` is the result of tensor_spec().
Status read_elements(const onnx::TensorProto& tensor, const TensorSpec& spec,
                     const ExternalFolder& folder, std::byte* out);

TensorType tensor_type(const TensorSpec& spec);
using TypedBuffer = std::pair<TensorType, std::shared_ptr<const Buffer>>;
Result<TypedBuffer> read_tensor(const onnx::TensorProto& tensor, const ExternalFolder& folder);

}  // namespace byoc::onnx_import
