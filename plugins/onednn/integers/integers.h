// SPDX-License-Identifier: Apache-2.0
#pragma once
// Scales, zero points, bias and functions of a unit on integers, as attributes of a primitive.
//
// A result is round(f(sums * step + bias) / scale) + zero_point for sums of products in i32. For
// f relu or clip this is round(clip(step / scale * (sums + bias / step))) + zero_point, halves to
// even, saturated when it is stored. ONNX Runtime's kernels compute the same, with the same
// roundings; the reference, which follows ONNX's text, may be one step beside it where the exact
// result is an f32 rounding away from a tie.
#include "exact/sums.h"
#include "library/dnnl_compat.h"
#include "region/region.h"

namespace byoc::onednn {

struct IntegerAttr {
  dnnl::primitive_attr attr;  // scratchpad is the user's
  std::vector<float> bias;    // one per channel, added to the sums before they are scaled
};

/// Returns the attributes of a product with these channels; `channel_axis` is the result's. Where
/// elements of constants are not known, scales are 1 and the bias is 0. Throws Refusal.
IntegerAttr product_attr(const Region& region, const Unit& unit, int64_t channels,
                         int64_t channel_axis);
/// Returns a sum of two operands. Throws Refusal.
SumOfIntegers sum_of(const Region& region, const Unit& unit);

}  // namespace byoc::onednn
