// SPDX-License-Identifier: Apache-2.0
#pragma once
// The machine and the plugins of a report.
#include <nlohmann/json_fwd.hpp>
#include <span>

#include "byoc/host/plugins.h"

namespace byoc::driver {

/// Returns the processor's name, its number of cores and the system.
nlohmann::ordered_json machine_json();
/// Returns id, version, file, colour and the colour of text on it of the usable plugins of all
/// sets, by id.
nlohmann::ordered_json plugins_json(std::span<const PluginSet* const> sets);

}  // namespace byoc::driver
