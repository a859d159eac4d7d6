// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads operands that byoc's ops have as attributes: axes, pads, target shapes.
#include "core/import/onnx/convert.h"

namespace byoc::onnx_import {

/// Returns the refusal of the operand `value`, `what` in ONNX, whose elements are not known.
/// `accepted` completes "only ... are supported". The help has the cure that works.
Status computed_operand(Graph& graph, ValueId value, std::string_view what,
                        std::string_view accepted = "constants");

/// Returns input k as a list of integers. `what` is its name in ONNX ("shape").
/// Errors: kUnimplemented when it is computed at run time; kInvalidArgument when it is absent.
Result<Ints> constant_ints(Graph& graph, const OnnxNode& node, size_t k, std::string_view what);

/// Returns attribute `name` up to opset `last_attr`, and input k from the next opset on; empty when
/// it is absent.
Result<Ints> ints_attr_or_input(Graph& graph, const OnnxNode& node, std::string_view name,
                                int last_attr, size_t k);

/// Returns `axis` counted from 0. Errors: kInvalidArgument when it is outside [-rank, rank).
Result<size_t> normal_axis(int64_t axis, size_t rank);

}  // namespace byoc::onnx_import
