// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace byoc {
std::string_view version();  ///< "0.1.0", from the project file
}  // namespace byoc
