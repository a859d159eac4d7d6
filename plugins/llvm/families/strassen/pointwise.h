// SPDX-License-Identifier: Apache-2.0
#pragma once
// Convolutions of one pixel by Strassen's products: the pixels of an image are rows, in bands, and
// its channels are terms.
#include "plugins/llvm/families/strassen/compute.h"

namespace byoc::llvm_plugin::strassen {

/// The extents of a conv2d_nchwc that reads one pixel per result, in blocks of channels:
/// x [images, terms, .., terms per block], y [images, blocks, y_rows, y_columns, block].
struct Pointwise {
  int64_t images, y_rows, y_columns, blocks, block;
  int64_t in_blocks, in_block;
  int64_t row_step = 1, column_step = 1;  ///< strides
  int64_t joined = 1;                     ///< blocks of y in a block of columns
  int64_t pixels() const { return y_rows * y_columns; }
  int64_t k() const { return in_blocks * in_block; }
};
/// Returns the extents of a convolution of f32 without padding and groups, with an even number of
/// blocks of both kinds, whose columns are blocks of `joined` times y's.
std::optional<Pointwise> pointwise_of(const te::Site& site);

/// Returns the product of a convolution whose images are in bands of `band` pixels, an even number;
/// the last band is filled up with zeros.
Product product_of(const Pointwise& conv, int64_t band);
/// Returns the compute: the stages of `quarters_of`, then conv2d_nchwc with the quarters in place.
ComputeFn compute_of(const Pointwise& conv, const Product& product);

}  // namespace byoc::llvm_plugin::strassen
