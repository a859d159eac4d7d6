// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reports of byoc's own defects: a command installs what writes them, and the places that find a
// defect call it. Programs that use byoc as a library have none, unless they install one.
#include <string>
#include <string_view>

namespace byoc {

/// Writes a report of a defect and returns the text about it for the user; empty when none was
/// written. `what` is the message of the defect. Any thread may call it.
using DefectReporter = std::string (*)(std::string_view what);

/// Installs the reporter of this process; null removes it. Call it before other threads start.
void set_defect_reporter(DefectReporter reporter);
/// Returns true when a reporter is installed.
bool reports_defects();
/// Calls the reporter. Returns "" without one. Thread-safe as far as the reporter is.
std::string report_defect(std::string_view what);

/// Returns the message of the failed BYOC_CHECK that stops this process, at most 1 KiB of it; empty
/// when none has failed. It is in static memory, for the handlers of signals.
std::string_view failed_check();

}  // namespace byoc
