// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads a path into a checked ModelProto.
#include <onnx/onnx_pb.h>

#include <memory>

#include "byoc/base/file.h"

namespace byoc::onnx_import {

/// Parses a whole file. `what` is its expected content for messages: "model" or "tensor".
/// Errors: slug "model-file" or "tensor-file" (cannot be read, empty, over 2 GiB), "onnx-parse".
Status parse_file(const std::string& path, std::string_view what,
                  google::protobuf::MessageLite& message);

/// A model whose large weights are still in the file.
struct ModelFile {
  std::unique_ptr<onnx::ModelProto> model;
  std::shared_ptr<const MappedFile> file;  ///< read by an ExternalFolder, for kModelFile
};

/// Reads and parses `path`. protobuf accepts an empty file, and many files of other formats, as a
/// valid message with nothing in it, so required fields are checked here. Errors: slug "model-file"
/// (cannot be read, empty, over 2 GiB), "onnx-parse" (truncated, not ONNX).
Result<ModelFile> read_model_file(const std::string& path);

}  // namespace byoc::onnx_import
