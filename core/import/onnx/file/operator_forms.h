// SPDX-License-Identifier: Apache-2.0
#pragma once
// The forms of ONNX's operators by opset: numbers of inputs and outputs, names of attributes.
#include <onnx/onnx_pb.h>

#include <optional>
#include <span>
#include <string_view>

#include "byoc/base/status.h"

namespace byoc::onnx_import {

/// The form of an operator from an opset on, up to that of its next form.
struct OperatorForm {
  std::string_view op_type;
  int opset;
  int needed;                  // inputs that must have a name, which come first
  int min_inputs, max_inputs;  // min_inputs -1: the operator is gone from this opset on
  int min_outputs, max_outputs;
  std::string_view attributes;  // divided by spaces; `!` follows those that must be given
};

/// Returns the form of an operator of the default domain, or of "com.microsoft"; nullptr when the
/// opset does not have it. The default domain has operators of ONNX Runtime, too.
const OperatorForm* find_form(std::string_view op_type, int64_t opset,
                              std::string_view domain = "");
/// Returns the opset in which the operator came; nullopt when ONNX does not have it.
std::optional<int> first_opset(std::string_view op_type);
/// Returns all forms of the default domain, ordered by operator and opset.
std::span<const OperatorForm> operator_forms();
/// Returns those of ONNX Runtime's operators.
std::span<const OperatorForm> microsoft_forms();

/// Compares a node with the form of its operator.
/// Errors: slug "onnx-graph" with the number of inputs, or of too many outputs, and its limit; a
/// needed input without a name; an attribute that is missing or that the operator does not have.
Status check_form(const onnx::NodeProto& node, int64_t opset);
/// Returns what the node has that its operator lacks in the newest form known, such as "the
/// attribute \"mode\"": the operator changed since. Returns "" when it has nothing of the kind.
std::string newer_part(const onnx::NodeProto& node);

}  // namespace byoc::onnx_import
