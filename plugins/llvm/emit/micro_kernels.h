// SPDX-License-Identifier: Apache-2.0
#pragma once
// Micro-kernels whose code is written here, for Schedule::tensorize.
#include "byoc/te/tensor.h"

namespace byoc::llvm_plugin {

/// "fma_tile": c[rows, columns] += a[rows, k] * b[k, columns] of f32, for any k, with the tile of c
/// in registers. Rows of b and c lie in one piece; `columns` is a multiple of 8. 6 x 16 fill the
/// registers of AVX2.
te::TensorIntrin fma_tile(int64_t rows, int64_t columns);

/// "byte_tiles": c[m, n] += a[m, q, 4] * b[q, n, 4] of bytes, u8 by i8, in i32, for any number of
/// rows, at most 32 columns and sums of whole tiles, 16 q: by the instructions of kTiles.
te::TensorIntrin byte_tiles();
inline constexpr int64_t kTileColumns = 32, kTileTerms = 64, kTileRows = 32;

}  // namespace byoc::llvm_plugin
