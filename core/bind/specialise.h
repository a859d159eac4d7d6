// SPDX-License-Identifier: Apache-2.0
#pragma once
// Infers functions again for the types of the arguments of their calls.
#include <functional>

#include "core/simplify/functions.h"

namespace byoc::simplify {

/// Returns the new type for an old one.
using TypeMap = std::function<TypeId(TypeId)>;

/// Maps the parameter types of the entry and infers the functions that it calls. A called function
/// gets the types of its arguments; there is one copy per distinct list of them, and the first one
/// keeps the name. Functions that the entry does not reach are inferred last, from their own mapped
/// parameters.
/// Errors: recursion; a call that does not fit its function (slug "signature-mismatch"); errors of
/// the ops' inference, with the place.
Status specialise(IRModule& module, const TypeMap& map);

}  // namespace byoc::simplify
