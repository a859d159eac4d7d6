// SPDX-License-Identifier: Apache-2.0
#pragma once
// Looks up rows in the tables of all op families.
#include "core/import/onnx/convert.h"

namespace byoc::onnx_import {

/// The newest opset of the default domain that the tables support. Nodes of later ones are
/// converted as its nodes, when file/operator_forms.h finds nothing new in them.
inline constexpr int kNewestOpset = 28;

/// Operators without rows, which become nodes of control flow (control.h), and their first opsets.
inline constexpr std::pair<const char*, int> kControlOps[] = {{"If", 1}, {"Loop", 1}, {"Scan", 8}};

/// Returns the row for an op of the default domain at `opset`; null when there is none.
const Row* find_row(std::string_view op_type, int opset);
/// Returns all rows of an op.
std::span<const Row* const> rows_of(std::string_view op_type);
/// Returns the opsets of the op's rows, "opset 11 to 12, 13 and up", or "" when it has no row.
std::string known_opsets(std::string_view op_type);

}  // namespace byoc::onnx_import
