// SPDX-License-Identifier: Apache-2.0
#pragma once
// Replaces loops that compute the declaration of a micro-kernel by a call of it.
#include "core/te/schedule/state.h"
#include "core/te/simplify/simplifier.h"

namespace byoc::te {

/// Returns an error when a declaration is malformed.
Status check_declaration(const TensorIntrin& intrin);
/// Returns the call that computes the same as the loops. Errors: the reason why there is none.
Result<Stmt> call_of(const For& nest, const std::shared_ptr<const TensorIntrin>& intrin,
                     Simplifier& simplify);

/// The number of calls that the loops of a stage became, and why the first of the others did not.
struct Tensorized {
  size_t calls = 0;
  std::string why_not;
};
Tensorized try_tensorize(const ScheduleState& state, size_t stage);

}  // namespace byoc::te
