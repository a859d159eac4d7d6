// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions again, for the types they are now called with.
#include <functional>

#include "core/simplify/functions.h"

namespace byoc::simplify {

/// What stands for a type from now on.
using TypeMap = std::function<TypeId(TypeId)>;

/// Maps the parameters of the entry and infers downwards from there; a function gets the types of
/// the arguments it is called with, and one copy per distinct list of them: the first keeps the
/// name. Functions the entry does not reach follow, from their own mapped parameters. Errors:
/// recursion, a call that does not fit its function (slug "signature-mismatch"), what the ops'
/// inference says, with the place.
Status specialise(IRModule& module, const TypeMap& map);

}  // namespace byoc::simplify
