// SPDX-License-Identifier: Apache-2.0
#pragma once
// Instruments that run around every pass.
#include "byoc/pass/pass.h"

namespace byoc {

/// Verifies the module after every pass; prints the module before a pass that broke it to stderr.
Instrument verify_each();
/// Writes NNN_<pass>.ir into `folder` for every pass that changed something. NNN counts through the
/// process, so that the pipelines of one compilation do not overwrite each other's files.
Instrument dump_changes(std::string folder);
/// Prints one line on stderr per pass: its name, its time, the nodes of the module after it.
Instrument print_times();

}  // namespace byoc
