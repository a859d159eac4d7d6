// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies of adjacent elements, as one statement: a result may be in the memory of an operand.
#include "byoc/te/stmt.h"

namespace byoc::te {

/// The name of the intrinsic that copies n adjacent elements from its first place to its second.
/// Places with one address are left as they are. Its args are {n}.
inline constexpr const char* kCopy = "copy";

/// Makes a statement that copies all elements. Both tensors have one dtype and one shape.
Stmt make_copy(const Tensor& from, const Tensor& to);
/// Returns true for what make_copy makes, or what has its form.
bool is_copy(const Intrinsic& call);

}  // namespace byoc::te
