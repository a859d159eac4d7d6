// SPDX-License-Identifier: Apache-2.0
#pragma once
// Micro-kernels whose code is written here, for Schedule::tensorize.
#include "byoc/te/tensor.h"

namespace byoc::llvm_plugin {

/// "fma_tile": c[rows, columns] += a[rows, k] * b[k, columns] of f32, for any k, with the tile of c
/// in registers. Rows of b and c lie in one piece; `columns` is a multiple of 8. 6 x 16 fill the
/// registers of AVX2.
te::TensorIntrin fma_tile(int64_t rows, int64_t columns);

}  // namespace byoc::llvm_plugin
