// SPDX-License-Identifier: Apache-2.0
#pragma once
// Counts the open instances of each library, so that each can be shut down once, after all
// are closed. The address of its `shutdown` identifies a library; those without the slot
// are not counted.
#include "byoc/base/status.h"
#include "byoc/plugin/abi.h"

namespace byoc {

/// Errors: kFailedPrecondition when the library of the table was shut down.
Status check_not_shut_down(const byoc_plugin& table);
void count_opened(const byoc_plugin& table);
void count_closed(const byoc_plugin& table);

}  // namespace byoc
