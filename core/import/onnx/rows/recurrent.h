// SPDX-License-Identifier: Apache-2.0
#pragma once
// LSTM with the matrices of another operand form, for rows of com.microsoft.
#include "core/import/onnx/convert.h"

namespace byoc::onnx_import {

/// The matrices of a recurrent node: w [directions, gates * hidden, input] and
/// r [directions, gates * hidden, hidden].
struct Matrices {
  ValueId w, r;
};

/// Converts a node with the attributes and the inputs 0 and 3 to 7 of LSTM.
Converted lstm_of(Graph& graph, const OnnxNode& node, const Matrices& matrices);

}  // namespace byoc::onnx_import
