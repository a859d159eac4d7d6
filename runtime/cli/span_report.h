// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reports of the spans inside kernels, as text and as JSON; and a run as a trace file.
#include <nlohmann/json_fwd.hpp>

#include "runtime/cli/output.h"
#include "runtime/session/profile.h"

namespace byoc::cli {

/// Returns the number of spans, the number and share of reorders, sums by implementation, and the
/// slowest spans, or all of them with `all`. Empty without rows.
std::string span_text(const std::vector<SpanRow>& rows, bool all);
/// Returns one object per row, in order of execution.
nlohmann::ordered_json span_json(const std::vector<SpanRow>& rows);

/// Returns the last run of `context`, which was profiled, in the Trace Event Format that
/// chrome://tracing and Perfetto read: steps on one track, the spans inside of kernels on one track
/// per thread.
nlohmann::ordered_json trace_json(const Session& session, const Context& context);
/// Writes trace_json. Errors: those of writing the file.
Status write_trace(const std::string& path, const Session& session, const Context& context);

}  // namespace byoc::cli
