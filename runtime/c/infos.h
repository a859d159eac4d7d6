// SPDX-License-Identifier: Apache-2.0
#pragma once
// Descriptions of tensors as the C API gives them.
#include <string>

#include "byoc/c/byoc.h"
#include "byoc/runtime/tensor.h"
#include "runtime/artifact/check_view.h"

namespace byoc::c {

inline DLDataType dlpack_type(const TensorSpec& spec) {
  return spec.dtype == DType::kBool ? kDlpackBool : to_dlpack(spec.dtype);
}

/// Returns a description whose name and dims are those of the arguments.
inline byoc_tensor_info tensor_info(const std::string& name, const TensorSpec& type) {
  return {name.c_str(), dlpack_type(type), static_cast<int32_t>(type.dims.size()),
          type.dims.data()};
}

}  // namespace byoc::c
