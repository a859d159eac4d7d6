#include "core/import/onnx/model_file.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/stubs/logging.h>

#include <climits>

#include "byoc/base/file.h"

namespace byoc::onnx_import {
namespace {

Status file_error(std::string message) {
  return invalid(std::move(message)).with_slug("model-file");
}

Status parse_error(std::string message) {
  return invalid(std::move(message))
      .with_slug("onnx-parse")
      .with_help("the file is truncated or no ONNX model; export or copy it again");
}

Result<std::shared_ptr<const MappedFile>> open_model(const std::string& path) {
  auto file = MappedFile::open(path);
  if (!file.ok()) return file_error(file.status().message());
  size_t size = (*file)->bytes().size();
  if (size == 0) return file_error("the model file is empty");
  if (size > INT_MAX) {
    return file_error(cat("the model file has ", size, " bytes; ONNX files end at 2 GiB"))
        .with_help("export again with the weights as external data");
  }
  return file;
}

/// What protobuf cannot know: fields that every model has.
Status check_model(const onnx::ModelProto& model) {
  if (!model.has_graph()) return parse_error("the file holds no ONNX graph");
  if (model.ir_version() < 1) return parse_error("the file states no ONNX IR version");
  if (model.ir_version() >= 3 && model.opset_import_size() == 0) {
    return parse_error("the file states no opset");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<onnx::ModelProto>> read_model_file(const std::string& path) {
  BYOC_TRY(auto file, open_model(path));
  google::protobuf::LogSilencer silence;  // our own message follows
  auto bytes = file->bytes();
  google::protobuf::io::CodedInputStream coded(reinterpret_cast<const uint8_t*>(bytes.data()),
                                               static_cast<int>(bytes.size()));
  coded.SetTotalBytesLimit(INT_MAX);
  auto model = std::make_unique<onnx::ModelProto>();
  if (!model->ParseFromCodedStream(&coded) || !coded.ConsumedEntireMessage()) {
    return parse_error("the file does not parse as an ONNX model");
  }
  BYOC_TRY_STATUS(check_model(*model));
  return model;
}

}  // namespace byoc::onnx_import
