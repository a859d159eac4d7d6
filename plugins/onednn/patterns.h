// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "byoc/plugin/sdk/plugin.h"

namespace byoc::onednn {

/// Returns the patterns in order of priority: ops followed by those that oneDNN can compute before
/// it stores the result, then single ops.
std::vector<sdk::Pattern> pattern_table();

}  // namespace byoc::onednn
