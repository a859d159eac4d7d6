// SPDX-License-Identifier: Apache-2.0
#pragma once
// What happened inside of kernels, for people and as JSON; and a run as a trace to look at.
#include <nlohmann/json_fwd.hpp>

#include "runtime/cli/output.h"
#include "runtime/session/profile.h"

namespace byoc::cli {

/// How many, how many of them reorders and their share; sums by implementation; the slowest ones,
/// or all with `all`. Empty without rows.
std::string span_text(const std::vector<SpanRow>& rows, bool all);
/// One object per row, in order of execution.
nlohmann::ordered_json span_json(const std::vector<SpanRow>& rows);

/// The last run of `context`, which was profiled, in the Trace Event Format that chrome://tracing
/// and Perfetto read: steps on one track, what kernels told inside on one track per thread. Errors:
/// those of writing the file.
Status write_trace(const std::string& path, const Session& session, const Context& context);

}  // namespace byoc::cli
