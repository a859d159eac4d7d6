// SPDX-License-Identifier: Apache-2.0
#pragma once
// The time that calls into the plugin get, and the cure when a child does not finish.
#include "core/conform/conform.h"
#include "core/process/child.h"

namespace byoc::conform {

/// Returns the limits of a child of the kit, whose activities begin with the slot that is called.
process::ChildLimits limits_of(const Options& options);
/// Returns the cure for a child that hung, crashed or exited; "" when the check's own cure fits, as
/// for an access outside of a tensor.
std::string cure_of(const process::ChildResult& child);

}  // namespace byoc::conform
