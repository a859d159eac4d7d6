// SPDX-License-Identifier: Apache-2.0
#include "core/import/onnx/file/tensor_file.h"

#include <exception>

#include "byoc/base/file.h"
#include "core/import/onnx/file/model_file.h"
#include "core/import/onnx/file/tensor_proto.h"

namespace byoc {
namespace {

using namespace onnx_import;  // NOLINT: this file only wraps its tensor functions

Result<PbTensor> read_checked(const std::string& path) {
  onnx::TensorProto proto;
  BYOC_TRY_STATUS(parse_file(path, "tensor", proto));
  const ExternalFolder no_folder;  // a tensor file has no external data
  BYOC_TRY(TensorSpec spec, tensor_spec(proto, no_folder));
  PbTensor out{proto.name(), {}};
  BYOC_TRY(out.tensor, Tensor::make(spec));
  BYOC_TRY_STATUS(read_elements(proto, spec, no_folder, out.tensor.data()));
  return out;
}

}  // namespace

Result<PbTensor> read_pb(const std::string& path) {
  try {
    auto tensor = read_checked(path);
    if (!tensor.ok()) return std::move(tensor.status()).at(path);
    return tensor;
  } catch (const std::exception& e) {
    return Status(Code::kResourceExhausted, cat("reading ", path, " failed: ", e.what()));
  }
}

Status write_pb(const Tensor& tensor, const std::string& name, const std::string& path) {
  try {
    onnx::TensorProto proto;
    proto.set_name(name);
    proto.set_data_type(dtype_to_onnx(tensor.spec().dtype));
    for (int64_t dim : tensor.spec().dims) proto.add_dims(dim);
    proto.set_raw_data(tensor.data(), tensor.size_bytes());
    std::string bytes;
    if (!proto.SerializeToString(&bytes)) {  // protobuf writes up to 2 GiB
      return Status(Code::kOutOfRange, cat(tensor.spec(), " is too large for a .pb file")).at(path);
    }
    return write_file(path, bytes);
  } catch (const std::exception& e) {
    return Status(Code::kResourceExhausted, cat("writing ", path, " failed: ", e.what()));
  }
}

}  // namespace byoc
