// SPDX-License-Identifier: Apache-2.0
#pragma once
// Scales, zero points, bias and functions of a unit on integers, as attributes of a primitive.
//
// A result is round(f(sums * factor + bias) / scale) + zero_point for sums of products in i32. For
// f relu or clip this is clip(factor' * (sums + bias')), rounded (halves to even) and saturated when
// it is stored: factors divide by the scale of the result, and the zero point is part of the bias.
// The result may be one step beside the reference where the exact one is a tie, or an f32 rounding
// away from it.
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
/// Returns those of a sum of two operands.
dnnl::primitive_attr sum_attr(const Region& region, const Unit& unit);

}  // namespace byoc::onednn
