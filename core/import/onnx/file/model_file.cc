// SPDX-License-Identifier: Apache-2.0
#include "core/import/onnx/file/model_file.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/stubs/logging.h>

#include <climits>

#include "core/import/onnx/file/large_data.h"

namespace byoc::onnx_import {
namespace {

/// The IR version of ONNX 1.23. Versions 11 to 14 add element types, which are refused where they
/// occur, and hints on devices, which change no result.
constexpr int64_t kNewestIrVersion = 14;

Status parse_error(std::string message) {
  return invalid(std::move(message))
      .with_slug("onnx-parse")
      .with_help("the file is truncated or not an ONNX model; export or copy it again");
}

/// Checks the fields that every model has. protobuf accepts a file without them.
Status check_model(const onnx::ModelProto& model) {
  if (!model.has_graph()) return parse_error("the file holds no ONNX graph");
  if (model.ir_version() < 1) return parse_error("the file states no ONNX IR version");
  if (model.ir_version() > kNewestIrVersion) {
    return unimplemented(cat("the file has ONNX IR version ", model.ir_version(),
                             ", this byoc supports versions 1 to ", kNewestIrVersion))
        .with_slug("onnx-unsupported")
        .with_help("export the model again with an older ONNX; or the file is damaged");
  }
  if (model.ir_version() >= 3 && model.opset_import_size() == 0) {
    return parse_error("the file states no opset");
  }
  return {};
}

using Parse = bool (*)(std::span<const std::byte>, google::protobuf::MessageLite&);

Result<std::shared_ptr<const MappedFile>> parse_mapped(const std::string& path,
                                                       std::string_view what,
                                                       google::protobuf::MessageLite& message,
                                                       Parse parse) {
  std::string slug = cat(what, "-file");
  auto file = MappedFile::open(path);
  if (!file.ok()) return invalid(file.status().message()).with_slug(slug);
  auto bytes = (*file)->bytes();
  if (bytes.empty()) return invalid(cat("the ", what, " file is empty")).with_slug(slug);
  if (bytes.size() > INT_MAX) {
    return invalid(
               cat("the ", what, " file has ", bytes.size(), " bytes; protobuf reads up to 2 GiB"))
        .with_slug(slug)
        .with_help("export again with the weights as external data");
  }
  google::protobuf::LogSilencer silence;  // our own message follows
  if (parse(bytes, message)) return file;
  return parse_error(cat("the file does not parse as an ONNX ", what));
}

bool parse_all(std::span<const std::byte> bytes, google::protobuf::MessageLite& message) {
  google::protobuf::io::CodedInputStream coded(reinterpret_cast<const uint8_t*>(bytes.data()),
                                               static_cast<int>(bytes.size()));
  coded.SetTotalBytesLimit(INT_MAX);
  return message.ParseFromCodedStream(&coded) && coded.ConsumedEntireMessage();
}

bool parse_model(std::span<const std::byte> bytes, google::protobuf::MessageLite& message) {
  return parse_without_large_data(bytes, static_cast<onnx::ModelProto&>(message));
}

}  // namespace

Status parse_file(const std::string& path, std::string_view what,
                  google::protobuf::MessageLite& message) {
  return std::move(parse_mapped(path, what, message, parse_all)).status();
}

Result<ModelFile> read_model_file(const std::string& path) {
  ModelFile out{std::make_unique<onnx::ModelProto>(), nullptr};
  BYOC_TRY(out.file, parse_mapped(path, "model", *out.model, parse_model));
  BYOC_TRY_STATUS(check_model(*out.model));
  return out;
}

}  // namespace byoc::onnx_import
