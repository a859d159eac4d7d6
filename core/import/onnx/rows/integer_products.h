// SPDX-License-Identifier: Apache-2.0
#pragma once
// The product of integers that MatMulInteger and ONNX Runtime's operators share.
#include "core/import/onnx/convert.h"

namespace byoc::onnx_import {

/// Integers of a product: their elements, and their zero point or none.
struct Integers {
  ValueId x;
  Value zero_point;
};

/// Adds the exact product of a and b in i32. The zero point of a has one value, or one per row, and
/// that of b one value, or one per column.
ValueId matmul_of_integers(Graph& graph, const Integers& a, const Integers& b);

}  // namespace byoc::onnx_import
