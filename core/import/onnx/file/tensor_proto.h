// SPDX-License-Identifier: Apache-2.0
#pragma once
// TensorProto: every dtype of byoc, packed and raw, inside the file or beside it.
#include <onnx/onnx_pb.h>

#include <memory>

#include "byoc/base/external.h"
#include "byoc/ir/type.h"
#include "core/import/onnx/file/dtypes.h"
#include "core/import/onnx/file/external_data.h"

namespace byoc::onnx_import {

/// The type, after checking that the data is there in exactly the size that the type needs: whoever
/// allocates for it allocates no more than the file holds. Errors name the tensor.
Result<TensorSpec> tensor_spec(const onnx::TensorProto& tensor, const ExternalFolder& folder);
/// Writes the elements, compact and row-major; `spec` is what tensor_spec gave.
Status read_elements(const onnx::TensorProto& tensor, const TensorSpec& spec,
                     const ExternalFolder& folder, std::byte* out);

TensorType tensor_type(const TensorSpec& spec);
using TypedBuffer = std::pair<TensorType, std::shared_ptr<const Buffer>>;
Result<TypedBuffer> read_tensor(const onnx::TensorProto& tensor, const ExternalFolder& folder);

}  // namespace byoc::onnx_import
