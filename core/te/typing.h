// SPDX-License-Identifier: Apache-2.0
#pragma once
// The element types that operations take, for the factories, which abort, and for the parser, which
// returns errors.
#include "byoc/te/expr.h"

namespace byoc::te {

/// Returns true when the operation exists for operands of that type.
bool fits(UnaryOp op, DType dtype);
bool fits(BinaryOp op, DType dtype);

}  // namespace byoc::te
