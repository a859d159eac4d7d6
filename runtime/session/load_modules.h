// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "runtime/session/session_state.h"

namespace byoc {

/// Checks session.executable, loads its modules with session.plugins, finds the kernel
/// of each step.
Status load_modules(SessionState& session);

}  // namespace byoc
