// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs loops one element at a time: slowly, plainly, and with an error where compiled code
// would be undefined. It is the reference in tests of computes and schedules, and shows what a
// lowered function does.
#include <span>
#include <utility>

#include "byoc/te/stmt.h"

namespace byoc::te {

/// Values of variables that are bound outside of the function: symbolic extents.
using Bindings = std::vector<std::pair<Var, int64_t>>;

/// Runs `function` on compact row-major buffers: one per input, one per output. Every iteration of
/// every loop runs alone, in order. Memory from Alloc starts as bytes of 0xA5. An Intrinsic with a
/// declaration runs by that.
/// Errors: kOutOfRange naming the tensor and the index that leaves it; kInvalidArgument for
/// undefined operations (division by 0, shifts by too many bits, floats cast to integers that
/// cannot hold them), for variables that nothing binds and tensors that nothing allocates;
/// kUnimplemented for an Intrinsic without a declaration, by name.
Status evaluate(const LoopFunction& function, std::span<const void* const> inputs,
                std::span<void* const> outputs, const Bindings& bindings = {});

/// Returns the value of an integer or bool expression that loads nothing. Errors: as above.
Result<int64_t> evaluate(const Expr& x, const Bindings& bindings);

}  // namespace byoc::te
