// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lists of sizes in --shape of byoc compile: N=1,4,16, and sizes that are added to ranges.
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
/// N=1 and N=4. A later flag whose names all have a range adds a choice with its numbers for these
/// names: {"B=1..4", "T=1..128", "T=128", "B=2,T=64"} gives the open sizes, T=128 for every B, and
/// one exact size. Without a list it returns `shapes` as they are. Errors: slug "usage" for a value
/// that is listed twice, a name that is given again otherwise, and more than kMaxSizes
/// combinations.
Result<std::vector<SizeChoice>> expand_sizes(const std::vector<std::string>& shapes);

}  // namespace byoc::driver
