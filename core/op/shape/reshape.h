// SPDX-License-Identifier: Apache-2.0
#pragma once
// The types of reshapes, whose target is an attribute or an operand.
#include "core/op/kernel/util.h"

namespace byoc::op {

/// Returns x with the extents of the attribute `shape`: 0 copies the dim of x in its place, unless
/// `allow_zero`; one -1 is computed. Errors: they do not hold the elements of x.
Result<std::vector<TensorType>> infer_reshape(Types in, const Attrs& attrs);

}  // namespace byoc::op
