// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ranges, shapes and products by sizes that may be open, for operators that have several ops.
#include "core/import/onnx/convert.h"

namespace byoc::onnx_import {

/// Returns 0, 1, ... n - 1 as i64, for a size that is static or open.
ValueId counted_to(Graph& graph, Dim n);
/// Returns a dim of x, which is static or open, as i64 [1].
ValueId extent_of(Graph& graph, ValueId x, int64_t dim);
/// Reshapes, or broadcasts by "expand", to dims that are static or open.
ValueId shaped_to(Graph& graph, const char* op, ValueId x, const Shape& shape);
/// Multiplies each head of a [n, h, rows, m] by the head of b [n, g, m, columns] that serves it.
/// Other sizes are static or open. Returns [n, h, rows, columns]. Errors: h or g is not
/// known, or g does not divide h; slug "symbolic-shape" for a counted size.
Result<ValueId> product_of_groups(Graph& graph, ValueId a, ValueId b);

}  // namespace byoc::onnx_import
