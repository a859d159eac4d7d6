// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ranges, for operators other than Range.
#include "core/import/onnx/convert.h"

namespace byoc::onnx_import {

/// Returns 0, 1, ... n - 1 as i64, for a size that is static or open.
ValueId counted_to(Graph& graph, Dim n);

}  // namespace byoc::onnx_import
