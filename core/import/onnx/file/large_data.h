// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parses models without copying their weights, which stay in the mapped file.
#include <onnx/onnx_pb.h>

#include <cstddef>
#include <span>

namespace byoc::onnx_import {

/// The location, as external data, of bytes in the model's own file. No path has a zero byte.
inline constexpr std::string_view kModelFile("\0model", 6);

/// Parses the bytes of a model file. Raw data of at least 64 KiB of the main graph's initializers
/// is not copied: these tensors name it as external data in kModelFile. Returns false when the
/// bytes are no model. Cost: O(bytes that are copied + fields).
bool parse_without_large_data(std::span<const std::byte> file, onnx::ModelProto& model);

}  // namespace byoc::onnx_import
