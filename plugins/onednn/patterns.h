// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "byoc/plugin/sdk/plugin.h"

namespace byoc::onednn {

/// What the plugin takes, in order of priority: ops with what oneDNN can do before it stores their
/// result, then ops alone.
std::vector<sdk::Pattern> pattern_table();

}  // namespace byoc::onednn
