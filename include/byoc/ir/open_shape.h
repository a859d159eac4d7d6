// SPDX-License-Identifier: Apache-2.0
#pragma once
// The attribute `open_shape` of ops whose results have dims that no operand has: per dim its text,
// which has the sizes with their bounds. Ops with numbers alone have the attribute `shape` instead.
#include "byoc/ir/attrs.h"
#include "byoc/ir/dim.h"

namespace byoc {

inline constexpr const char* kOpenShapeAttr = "open_shape";

/// Returns the dims of the attribute, which must be there. Errors: those of parse_dim.
Result<Shape> open_shape_of(const Attrs& attrs);
/// Sets the attribute. A shape of numbers becomes the attribute `shape`, and this one is removed.
void set_open_shape(Attrs& attrs, const Shape& shape);

}  // namespace byoc
