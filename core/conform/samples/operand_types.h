// SPDX-License-Identifier: Apache-2.0
#pragma once
// Types to try for the operands of an op.
#include <vector>

#include "byoc/ir/type.h"

namespace byoc::conform {

/// Returns types for the other operands of an op that reads a value of type `known`: the same
/// type, and types that broadcast or multiply with it.
std::vector<TypeId> partners(TypeId known);
/// Returns types of this shape.
std::vector<TypeId> of_all_dtypes(TypeId type);

}  // namespace byoc::conform
