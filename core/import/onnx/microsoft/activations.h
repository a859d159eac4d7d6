// SPDX-License-Identifier: Apache-2.0
#pragma once
// Activations that ONNX Runtime's optimizer writes as attributes of products.
#include "core/import/onnx/convert.h"

namespace byoc::onnx_import {

/// Parameters of an activation in ONNX's order: alpha, beta; min, max. ONNX's defaults replace
/// missing ones.
using ActivationParams = std::vector<std::optional<double>>;

/// Adds the activation of an ONNX name, "Relu"; "" adds none.
/// Errors: kUnimplemented for activations that are not known.
Result<ValueId> activated(Graph& graph, ValueId x, const std::string& name,
                          const ActivationParams& params);

}  // namespace byoc::onnx_import
