// SPDX-License-Identifier: Apache-2.0
#pragma once
// Looks up rows in the tables of all op families.
#include "core/import/onnx/convert.h"

namespace byoc::onnx_import {

/// The newest opset of the default domain that the tables support. Nodes of later ones are
/// converted as its nodes, when file/operator_forms.h finds nothing new in them.
inline constexpr int kNewestOpset = 28;

/// The domain of ONNX Runtime's own operators, and its opset.
inline constexpr const char* kMicrosoftDomain = "com.microsoft";
inline constexpr int kMicrosoftOpset = 1;

/// Operators without rows, which become nodes of control flow (control.h), and their first opsets.
inline constexpr std::pair<const char*, int> kControlOps[] = {{"If", 1}, {"Loop", 1}, {"Scan", 8}};

/// The name of an operator. The default domain is "".
struct OperatorName {
  std::string_view domain, op_type;
};

/// Returns the row for an op at `opset`; null when there is none.
const Row* find_row(OperatorName name, int opset);
/// Returns all rows of an op.
std::span<const Row* const> rows_of(OperatorName name);
/// Returns the opsets of the op's rows, "opset 11 to 12, 13 and up", or "" when it has no row.
std::string known_opsets(OperatorName name);

}  // namespace byoc::onnx_import
