// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products with matrices that are stored in a narrow form.
#include "byoc/ir/module.h"
#include "byoc/op/registry.h"

namespace byoc::integers {

/// The products that a default codegen computes from the narrow form.
struct WantedStored {
  bool blocks = false;   // matmul_blocks
  bool widened = false;  // matmul_widened
};

/// Makes products of f32 with a constant dequantize_blocks, or cast of 16-bit floats, products that
/// read what is stored. Transposes between them are followed (matrix_path). Linear.
///   before: %1 = dequantize_blocks(%codes, %scale) {rows=64}    after: %2 = matmul_blocks(%x,
///           %2 = matmul(%x, %1)                                             %codes, %scale)
Function with_stored_weights(const Function& function, const OpRegistry& ops,
                             const WantedStored& wanted);

}  // namespace byoc::integers
