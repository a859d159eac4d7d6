// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs loops one element at a time: slow, plain, and strict about what compiled code leaves
// undefined. The oracle of tests of computes and schedules, and a way to look at a lowered
// function.
#include <span>
#include <utility>

#include "byoc/te/stmt.h"

namespace byoc::te {

/// What is known of variables from outside: symbolic extents.
using Bindings = std::vector<std::pair<Var, int64_t>>;

/// Runs `function` on compact row-major buffers: one per input, one per output. Every iteration of
/// every loop runs alone, in order. Memory from Alloc starts as bytes of 0xA5.
/// Errors: kOutOfRange naming the tensor and the index that leaves it; kInvalidArgument for what is
/// undefined (division by 0, shifts by too many bits, floats cast to integers that cannot hold
/// them), for variables that nothing binds and tensors that nothing allocates; kUnimplemented for
/// an Intrinsic without a declaration, by name. One with a declaration runs by that.
Status evaluate(const LoopFunction& function, std::span<const void* const> inputs,
                std::span<void* const> outputs, const Bindings& bindings = {});

/// The value of an integer or bool expression that loads nothing. Errors: as above.
Result<int64_t> evaluate(const Expr& x, const Bindings& bindings);

}  // namespace byoc::te
