// SPDX-License-Identifier: Apache-2.0
#include "byoc/base/version.h"

namespace byoc {
std::string_view version() { return BYOC_VERSION; }
}  // namespace byoc
