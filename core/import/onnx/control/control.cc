// SPDX-License-Identifier: Apache-2.0
#include "core/import/onnx/control.h"

#include "core/import/onnx/control/kinds.h"

namespace byoc::onnx_import {

namespace {
constexpr size_t kMostNested = 32;
}

bool is_control(const onnx::NodeProto& node) {
  const std::string& op = node.op_type();
  return (node.domain().empty() || node.domain() == "ai.onnx") &&
         (op == "If" || op == "Loop" || op == "Scan");
}

Result<std::vector<ValueId>> convert_control(ControlContext& context, onnx::NodeProto& proto,
                                             const NodeView& node) {
  if (context.scopes.depth() > kMostNested)
    return unimplemented(cat("more than ", kMostNested, " graphs inside each other"));
  if (node.op_type() == "If") return convert_if(context, proto, node);
  if (node.op_type() == "Loop") return convert_loop(context, proto, node);
  return convert_scan(context, proto, node);
}

}  // namespace byoc::onnx_import
