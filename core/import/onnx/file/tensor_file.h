// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads and writes TensorProto files of ONNX (.pb): test_data_set_*/input_0.pb, `--input x=a.pb`,
// `--output-format pb`.
#include "byoc/runtime/tensor.h"

namespace byoc {

struct PbTensor {
  std::string name;  // the name in the file; may be empty
  Tensor tensor;
};
/// Read and write a file. Errors: slugs "tensor-file", "onnx-parse", "onnx-unsupported" (element
/// type); they name the file.
Result<PbTensor> read_pb(const std::string& path);
Status write_pb(const Tensor& tensor, const std::string& name, const std::string& path);

}  // namespace byoc
