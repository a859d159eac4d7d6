// SPDX-License-Identifier: Apache-2.0
#pragma once
// The operators of ONNX's newest opset that the importer follows. Nodes of later opsets are
// compared with them.
#include <onnx/onnx_pb.h>

namespace byoc::onnx_import {

/// Returns what the node has that its operator lacks in the newest opset known, such as "the
/// attribute \"mode\"": the operator changed since. Returns "" when it has nothing of the kind.
std::string newer_part(const onnx::NodeProto& node);

}  // namespace byoc::onnx_import
