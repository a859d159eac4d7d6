// SPDX-License-Identifier: Apache-2.0
#pragma once
// Convolutions of images in blocks of eight channels, as oneDNN lays them out for AVX2, by the
// plugin's own loop. Its code unrolls the eight channels of a tap, where oneDNN 2.6 unrolls whole
// rows of taps, once for each edge of the image. The loop prefetches the next block's weights, and
// the edges of a row cost no more than its middle. A block of channels is summed and then added to
// the result.
#include <optional>

#include "primitives/primitives.h"

namespace byoc::onednn {

/// Cells are counted in results, kernels in taps. Steps: cells from tap to tap (ONNX's dilations).
struct ConvShape {
  int64_t images, in_channels, out_channels;
  int64_t in_h, in_w, out_h, out_w, kernel_h, kernel_w;
  int64_t stride_h, stride_w, step_h, step_w, pad_h, pad_w;  // padding: before the first cell
  bool has_bias, adds_to_result, has_relu;
};

/// Returns a loop that reads x (nChw8c), weights (OIhw8i8o) and, where there is one, the bias;
/// writes or adds to the result (nChw8c). Returns nothing where the CPU has no AVX2 and FMA, or
/// where channels do not come in eights, results in 32s. Any thread may run it; it uses OpenMP's
/// number of threads.
std::optional<Loop> find_conv_loop(const ConvShape& shape);

}  // namespace byoc::onednn
