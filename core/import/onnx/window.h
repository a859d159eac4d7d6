// SPDX-License-Identifier: Apache-2.0
#pragma once
// The attributes that Conv, ConvTranspose and the pools share: kernel_shape, strides, dilations,
// pads and auto_pad.
#include "core/import/onnx/convert.h"

namespace byoc::onnx_import {

struct WindowAttrs {
  Ints kernel, strides, dilations, pads;  // one per spatial dim, pads two; filled in
};

/// Reads the attributes and resolves auto_pad into pads. Errors: lists of the wrong length; SAME_*
/// over extents that are not known.
Result<WindowAttrs> read_window(const OnnxNode& node, const TensorType& x, const Ints& kernel);

/// Splits `total` cells of padding between the ends of dim d. An odd cell is added at the begin
/// when `odd_at_begin` (SAME_LOWER), otherwise at the end (SAME_UPPER).
void split_padding(Ints& pads, size_t d, int64_t total, bool odd_at_begin);

/// Returns the attributes strides, dilations and pads of byoc's ops.
Attrs to_attrs(const WindowAttrs& window);

}  // namespace byoc::onnx_import
