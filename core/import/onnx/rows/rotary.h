// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rotation that RotaryEmbedding of ONNX and of ONNX Runtime share.
#include "core/import/onnx/convert.h"

namespace byoc::onnx_import {

/// Rotates pairs (a, b) of x's last dim, which has `size` elements; the pairs are halves of the
/// dim, or neighbours. Cosine and sine broadcast to x with size / 2 elements in the last dim.
ValueId rotated(Graph& graph, ValueId x, ValueId cosine, ValueId sine, int64_t size,
                bool interleaved);

}  // namespace byoc::onnx_import
