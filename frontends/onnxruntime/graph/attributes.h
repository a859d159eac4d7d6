// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attributes of ONNX Runtime's nodes as messages of ONNX.
#include <optional>

#include "frontends/onnxruntime/graph/graph.h"
#include "frontends/onnxruntime/graph/protobuf.h"

namespace byoc::ort {

/// Returns an AttributeProto. Errors: kUnimplemented for graphs, and for tensors of texts; those
/// of ONNX Runtime.
Result<std::string> read_attribute(const Calls& calls, const OrtOpAttr* attribute);

/// Returns the bytes of a node's attribute of this name and type, a number or a text; none: it has
/// no such attribute. Errors: those of ONNX Runtime.
Result<std::optional<std::string>> find_attribute(const Calls& calls, const OrtNode* node,
                                                  const std::string& name, OrtAttribute type);

/// The element type, dims and elements of a tensor that ONNX Runtime holds.
struct TensorView {
  int element = 0;
  std::vector<int64_t> dims;
  Bytes bytes;  ///< live as long as the tensor
};
/// Errors: kUnimplemented for texts; those of ONNX Runtime.
Result<TensorView> view_of(const Calls& calls, const OrtValue* tensor);

/// Writes the fields of a TensorProto before its elements.
Message tensor_head(const std::string& name, int element, std::span<const int64_t> dims);
inline constexpr uint32_t kRawData = 9;  ///< the field of a TensorProto's elements

}  // namespace byoc::ort
