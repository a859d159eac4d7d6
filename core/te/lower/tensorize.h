// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loops that compute what a micro-kernel is declared to, and the call that stands in their place.
#include "core/te/schedule/state.h"
#include "core/te/simplify/simplifier.h"

namespace byoc::te {

/// What is wrong with a declaration.
Status check_declaration(const TensorIntrin& intrin);
/// The call that does what the loops do. Errors: why there is none.
Result<Stmt> call_of(const For& nest, const std::shared_ptr<const TensorIntrin>& intrin,
                     Simplifier& simplify);

/// How many calls the loops of a stage became, and why the first of the others did not.
struct Tensorized {
  size_t calls = 0;
  std::string why_not;
};
Tensorized try_tensorize(const ScheduleState& state, size_t stage);

}  // namespace byoc::te
