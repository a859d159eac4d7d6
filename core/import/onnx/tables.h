// SPDX-License-Identifier: Apache-2.0
#pragma once
// All op families in one look-up.
#include "core/import/onnx/convert.h"

namespace byoc::onnx_import {

/// The newest opset of the default domain whose changes the tables follow.
inline constexpr int kNewestOpset = 22;

/// The row for an op of the default domain at `opset`; null when there is none.
const Row* find_row(std::string_view op_type, int opset);
/// "opsets 11 to 17" of what is there for the op, or "" when the op has no row at all.
std::string known_opsets(std::string_view op_type);

}  // namespace byoc::onnx_import
