// SPDX-License-Identifier: Apache-2.0
#pragma once
// One function per op; convert_control (control.h) explains them.
#include "core/import/onnx/control.h"

namespace byoc::onnx_import {

Result<std::vector<ValueId>> convert_if(ControlContext& context, onnx::NodeProto& proto,
                                        const NodeView& node);
Result<std::vector<ValueId>> convert_loop(ControlContext& context, onnx::NodeProto& proto,
                                          const NodeView& node);
Result<std::vector<ValueId>> convert_scan(ControlContext& context, onnx::NodeProto& proto,
                                          const NodeView& node);

}  // namespace byoc::onnx_import
