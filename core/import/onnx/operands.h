// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operands that are attributes in meaning: axes, pads, target shapes.
#include "core/import/onnx/convert.h"

namespace byoc::onnx_import {

/// Input k as a list of integers. Errors: kUnimplemented when it is computed at run time; `what` is
/// its name in ONNX ("shape"). It must be given.
Result<Ints> constant_ints(Graph& graph, const OnnxNode& node, size_t k, std::string_view what);

/// Attribute `name` up to opset `last_attr`, input k after that; empty when neither is given.
Result<Ints> ints_attr_or_input(Graph& graph, const OnnxNode& node, std::string_view name,
                                int last_attr, size_t k);

/// `axis` counted from 0. Errors: kInvalidArgument when it is outside [-rank, rank).
Result<size_t> normal_axis(int64_t axis, size_t rank);

}  // namespace byoc::onnx_import
