// SPDX-License-Identifier: Apache-2.0
#pragma once
// Matrices that a function makes of a narrow form, and that products may read as they are stored.
#include <vector>

#include "byoc/ir/module.h"

namespace byoc {

/// The nodes between a product and the op that makes its matrix, which come last: transposes, two
/// at most, then the op.
struct MatrixPath {
  std::vector<uint32_t> nodes;
  bool is_transposed = false;  ///< one transpose remains
};

/// Returns the path of a value of rank 2. An exporter writes a matrix [n, k] and its transpose; the
/// importer, whose op makes [k, n], adds another one.
///   %1 = dequantize_blocks(%codes, %scale)   the path of %3 is %3, %2, %1, and is not transposed
///   %2 = transpose(%1)
///   %3 = transpose(%2)
MatrixPath matrix_path(const Function& function, ValueId matrix);

}  // namespace byoc
