// SPDX-License-Identifier: Apache-2.0
#pragma once
// Normalisations that ONNX's operators and ONNX Runtime's share.
#include "core/import/onnx/convert.h"

namespace byoc::onnx_import {

struct RmsAttrs {
  int64_t axis;
  double epsilon;
};

/// Adds x / (mean of x^2 + epsilon)^(1/2) * scale, the mean over `axis` and all after it. The
/// result has the type of the scale.
Result<ValueId> add_rms_norm(Graph& graph, ValueId x, ValueId scale, const RmsAttrs& attrs);
/// Adds (mean of x^2 + epsilon)^(-1/2), in f32 (f64 for f64), with the normalised extents 1.
Result<ValueId> inverse_root_mean_square(Graph& graph, ValueId x, const RmsAttrs& attrs);
/// Converts SimplifiedLayerNormalization.
Converted simplified_layer_norm(Graph& graph, const OnnxNode& node);

}  // namespace byoc::onnx_import
