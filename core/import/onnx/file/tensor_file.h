// SPDX-License-Identifier: Apache-2.0
#pragma once
// ONNX's TensorProto files (.pb): test_data_set_*/input_0.pb, `--input x=a.pb`, `--output-format
// pb`.
#include "byoc/runtime/tensor.h"

namespace byoc {

struct PbTensor {
  std::string name;  // as the file says; may be empty
  Tensor tensor;
};
/// Errors: slugs "tensor-file", "onnx-parse", "onnx-unsupported" (element type); they name the
/// file.
Result<PbTensor> read_pb(const std::string& path);
Status write_pb(const Tensor& tensor, const std::string& name, const std::string& path);

}  // namespace byoc
