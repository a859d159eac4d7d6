// SPDX-License-Identifier: Apache-2.0
#pragma once
// Several probes as one module, which is compiled at once.
#include "core/tools/probe/probe.h"

namespace byoc::driver {

/// The names of functions and locs of probe K begin with this and go on with K.
inline constexpr std::string_view kProbePrefix = "probe_";

/// Puts all probes into one module, whose entry calls each once, as a region of `plugin`.
IRModule joined(std::span<const Probe> probes, const std::string& plugin,
                std::vector<size_t>& first_output);
/// Puts the ops of all probes into the entry itself, each with the loc "probe_K".
IRModule side_by_side(std::span<const Probe> probes, std::vector<size_t>& first_output);

/// Returns the options for compiling probes: costs are kept for all programs, also for those that
/// are compiled without a log of tuning.
BuildOptions options_of_probes(const BuildOptions& build, const Probe& first);

}  // namespace byoc::driver
