// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lists of sizes in --shape of byoc compile: N=1,4,16.
#include <string>
#include <vector>

#include "byoc/base/status.h"

namespace byoc::driver {

/// One choice of sizes.
struct SizeChoice {
  std::string label;                // "N=4", "N=4,S=16"; empty when no list was given
  std::vector<std::string> shapes;  // --shape of this choice
};

/// The most sizes of one artifact.
inline constexpr size_t kMaxSizes = 64;

/// Returns every combination of the values in lists, the last name varying fastest: {"N=1,4"} gives
/// N=1 and N=4. Without a list it returns `shapes` as they are. Errors: slug "usage" for a value
/// that is listed twice and for more than kMaxSizes combinations.
Result<std::vector<SizeChoice>> expand_sizes(const std::vector<std::string>& shapes);

}  // namespace byoc::driver
