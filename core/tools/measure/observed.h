// SPDX-License-Identifier: Apache-2.0
#pragma once
// The regions of a measured program in the store of observations.
#include "byoc/tune/history.h"
#include "core/measure/session/timed_session.h"
#include "core/measure/store/store_use.h"

namespace byoc::driver {

/// A measured program: `functions` are its functions with choices, by symbol.
struct ObservedProgram {
  const measure::TimedSession* timed = nullptr;
  std::vector<tune::HistoryReport::Entry> functions;
};

/// The use of the store, and the times of the known regions: stored, and in these programs.
struct Observed {
  measure::StoreUse use;
  double stored_ns = 0, measured_ns = 0;
};

/// Looks up the regions of the programs. A program of one region ran alone, again and again, as a
/// point of the tuner does: its time is kept. `code` is that of measure::Key. Errors: the
/// file cannot be written.
Result<Observed> observe(std::span<const ObservedProgram> programs, const PluginSet& plugins,
                         const std::string& code, const std::string& folder);
/// Returns measure::text_of, and a line about the times of known regions when there are some.
std::string text_of(const Observed& observed);

}  // namespace byoc::driver
