// SPDX-License-Identifier: Apache-2.0
#pragma once
// kernel_shape, strides, dilations, pads and auto_pad: Conv, ConvTranspose and the pools share
// them.
#include "core/import/onnx/convert.h"

namespace byoc::onnx_import {

struct WindowAttrs {
  Ints kernel, strides, dilations, pads;  // one per spatial dim, pads two; filled in
};

/// Reads them; auto_pad is resolved into pads. Errors: lists of the wrong length; SAME_* over
/// extents that are not known.
Result<WindowAttrs> read_window(const OnnxNode& node, const TensorType& x, const Ints& kernel);

/// `total` cells of padding, the odd one at the end for SAME_UPPER and at the begin for SAME_LOWER.
void split_padding(Ints& pads, size_t d, int64_t total, bool odd_at_begin);

/// The attributes strides, dilations and pads as ops have them.
Attrs to_attrs(const WindowAttrs& window);

}  // namespace byoc::onnx_import
