// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which constants of compiled functions an Executable has the bytes of.
#include "byoc/base/external.h"

namespace byoc {

/// Returns true when the Executable has the bytes of that constant of the module: native code reads
/// those that it keeps and no others, plugins may read all of them when they load a module.
bool is_stored(const ExternalModule& module, const ExternalConstant& constant);

}  // namespace byoc
