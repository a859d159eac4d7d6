// SPDX-License-Identifier: Apache-2.0
#pragma once
// Broadcasts to shapes that the model computes, for ops other than Expand.
#include "core/import/onnx/convert.h"

namespace byoc::onnx_import {

/// Broadcasts x together with the shape that the operand `target` holds, i64 [n]. Its dims may be
/// counted. Errors: kUnimplemented when an entry has no upper bound, with the cure for `what`.
Converted expand_to(Graph& graph, ValueId x, ValueId target, const char* what);

}  // namespace byoc::onnx_import
