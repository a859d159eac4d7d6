// SPDX-License-Identifier: Apache-2.0
#pragma once
// Windows that slide over the spatial extents of [n, c, spatial...]: convolutions and pooling
// share them.
#include <span>
#include <string_view>

#include "byoc/ir/attrs.h"

namespace byoc::op {

/// One spatial dim. All fields are in [0, 2^31), stride, dilation and kernel are at least 1.
struct Window {
  int64_t kernel = 1, stride = 1, dilation = 1, pad_begin = 0, pad_end = 0;
  int64_t reach() const { return (kernel - 1) * dilation + 1; }  // cells from first to last tap
};

/// Reads one window per entry of `kernel`, from the attributes strides, dilations (empty or
/// absent: all 1) and pads (begins, then ends; empty: all 0). Errors: kInvalidArgument naming `op`
/// and the attribute.
Result<std::vector<Window>> read_windows(std::string_view op, const Attrs& attrs,
                                         std::span<const int64_t> kernel);

/// Returns floor((in + pad_begin + pad_end - reach) / stride) + 1. With `ceil_mode` the division
/// rounds up, so that the last window may reach over the end, and one that would start in the end
/// padding is dropped. An open extent gives an expression. Errors: kInvalidArgument, slug
/// "symbolic-shape", for a counted extent and for an open one that may be too small for a window.
Result<Dim> window_extent(std::string_view op, Dim in, const Window& window,
                          bool ceil_mode = false);

}  // namespace byoc::op
