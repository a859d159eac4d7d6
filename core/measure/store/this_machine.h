// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names of this machine and of the plugins that it has, as observations have them.
#include <string>

#include "byoc/host/plugins.h"

namespace byoc::measure {

/// Returns the processor's family, model, instruction sets and cache sizes as one line.
std::string machine_name();
/// Returns what distinguishes this machine's processor in a tuning log: name, kind, microcode,
/// caches, processors.
std::string machine_fingerprint();

/// Returns the plugin's version and a hash of its file, as in "0.1.0+9f86d081884c7d65": kernels
/// change while the version stays, and what was measured before is then not used. The version alone
/// when the file cannot be read. A file is read once per process. Thread-safe.
std::string version_and_build(const Plugin& plugin);
/// The same with the plugin's options after it, unless there are none.
std::string version_and_options(const Plugin& plugin);

/// Returns the options that code is generated with: "" for those of this machine, otherwise such as
/// "exact-sums {\"cpu\":\"x86-64-v3\",...}". The number of threads is not in it. Errors: the target
/// is unknown.
Result<std::string> code_options(const std::string& target_json, bool exact_sums);

/// Returns the folder of calibrations, observations and plans: $XDG_CACHE_HOME/byoc/placement, or
/// that under ~/.cache; "" when neither is known.
std::string default_folder();

}  // namespace byoc::measure
