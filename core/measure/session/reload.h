// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sessions that are loaded again in other memory.
#include "core/measure/session/timed_session.h"

namespace byoc::measure {

/// Returns a function that loads `executable` as `loaded` was, each time with copies of the
/// constants that a run may read: the pages that weights happen to be in can change the time of a
/// run by some percent for the life of a process. Bytes that `loaded` did not read stay shared. A
/// call needs memory for these constants.
Reload reload_of(Executable executable, const Session& loaded,
                 std::shared_ptr<const PluginSet> plugins, const SessionOptions& options);

}  // namespace byoc::measure
