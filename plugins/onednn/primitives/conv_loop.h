#pragma once
// Convolutions of images in blocks of eight channels, as oneDNN lays them out for AVX2, by a loop
// of our own. The sums are oneDNN's and in its order; the loop is shorter: one copy of a tap's
// eight channels where oneDNN 2.6 writes out a whole row of taps, once for each edge of the image.
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

/// Reads x (nChw8c), weights (OIhw8i8o) and, where there is one, the bias; writes or adds to the
/// result (nChw8c). Nothing where the CPU has no AVX2 and FMA, or where channels do not come in
/// eights, results in 32s. Any thread may run it; it uses as many as OpenMP is told to.
std::optional<Loop> find_conv_loop(const ConvShape& shape);

}  // namespace byoc::onednn
