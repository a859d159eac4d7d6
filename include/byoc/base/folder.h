// SPDX-License-Identifier: Apache-2.0
#pragma once
// The names in a folder.
#include <string>
#include <vector>

#include "byoc/base/status.h"

namespace byoc {

/// Returns the names in a folder but "." and "..", sorted. A folder that is removed meanwhile has
/// those that were read before. Unlike the iterators of std::filesystem, it throws std::bad_alloc
/// where an allocation fails, and does not end the process. Errors: the system's, slug "file".
Result<std::vector<std::string>> names_in(const std::string& folder);

}  // namespace byoc
