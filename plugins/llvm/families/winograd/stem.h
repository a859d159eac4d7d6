// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products for images with few channels, which are not in blocks: the first of a network, with a
// stride of 2. All phases of a point are terms of one product, so that 7 x 7 products of 12 terms
// are stored and read again, where those of compute.h were 13 x 13 of 3.
#include "plugins/llvm/families/winograd/compute.h"

namespace byoc::llvm_plugin::winograd {

/// Returns products[r, s, n, o, p, b] of points r of rows and s of columns, and before them, with
/// phases i of rows and j of columns, and steps from one tile to the next of t columns:
///   filters[r, s, o, c, i, j, b]           of the weights alone, transformed in f64
///   padded[n, c, h, w]                     the image with its border
///   phases[n, c, h, w % t, w / t]          so that neighbours belong to neighbouring tiles
///   columns[n, ty, c, r, i, w % t, w / t]  of which columns are transformed
///   inputs[r, s, n, ty, c, i, j, tx]       then rows
te::Tensor stem_products(te::Builder& builder, const Conv& conv, const Tile& tile,
                         const te::Tensor& x, const te::Tensor& weight);

}  // namespace byoc::llvm_plugin::winograd
