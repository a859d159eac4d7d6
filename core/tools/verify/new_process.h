// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs a replay in a new process, so that earlier computations of this process, and the caches of
// libraries, cannot affect the result.
#include "core/tools/replay/replay_case.h"

namespace byoc::driver {

/// The command of the new process: `program` is a byoc command, `plugin_files` those of --plugin.
struct NewProcess {
  std::string program;
  std::vector<std::string> plugin_files;
};

/// Writes `replay` to a temporary folder and runs `program replay` on it. Returns true when its
/// outputs differ from the stored ones or the process crashes. Errors: the folder cannot be
/// written, the program cannot be started, or the replay reports an error.
Result<bool> fails_in_new_process(const ReplayCase& replay, const NewProcess& process);

}  // namespace byoc::driver
