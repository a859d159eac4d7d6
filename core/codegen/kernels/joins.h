// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds concats whose operands can be computed in their places: the result is its operands, one
// after another in memory.
#include <vector>

#include "byoc/ir/module.h"

namespace byoc {

/// Returns, per node of an annotated function, whether it is a concat that copies nothing once its
/// operands are placed. Its result is not one of the function's, all dims before its axis are 1,
/// and each operand is a value of another op or call that has no other reader and, but for the
/// last, a multiple of 64 bytes. Cost: linear.
std::vector<bool> find_joins(const Function& function);

/// Returns true for a function of one concat that copies its parameters one after another, or of an
/// op that leaves the elements of its parameter as they are, such as a reshape, with known extents.
bool is_join(const Function& function);

}  // namespace byoc
