// SPDX-License-Identifier: Apache-2.0
#pragma once
// One node, or more, of each ONNX operator that needs operands or attributes of its own.
#include <span>

#include "byoc/ir/attrs.h"

namespace byoc::onnx_import {

/// A node. Operands are divided by spaces: "f32[2,3]" is a parameter, "i64=1,2" a constant list,
/// "i64:5" a constant number, "-" an omitted operand, "sequence" one of tensors. The node has the
/// attributes that any opset of the operator reads.
struct NodeSample {
  const char* op_type;
  const char* operands;
  Attrs attrs = {};
  size_t outputs = 1;
};

/// Returns the samples of the operators that have their own.
std::span<const NodeSample> node_samples();
/// Returns those of ONNX Runtime's operators.
std::span<const NodeSample> microsoft_samples();

/// Operands of samples of all other operators, in the order in which they are tried.
inline constexpr const char* kUsualOperands[] = {
    "f32[1,4,6,6]",     "f32[1,4,6,6] f32[1,4,6,6]", "f32[2,3] f32[2,3] f32[2,3]",
    "bool[2,3]",        "bool[2,3] bool[2,3]",       "i32[2,3]",
    "i32[2,3] i32[2,3]"};

}  // namespace byoc::onnx_import
