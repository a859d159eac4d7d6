// SPDX-License-Identifier: Apache-2.0
#pragma once
// The sizes at which a program with open sizes is compared.
#include "core/tools/model/runnable.h"

namespace byoc::driver {

struct CheckedSizes {
  std::vector<cli::RunSizes> runs;  // different ones; one without sizes where none is open
  std::vector<std::string>
      limited;  // "T=1..1024 of 1..65536", for each size whose bound is greater
};

/// The most elements that all values of a checked run have together.
inline constexpr int64_t kMostCheckedElements = 1 << 26;

/// Returns runs that cover the bounds of the open sizes `names` of the module: all at their least
/// and at their greatest number, one at its greatest with the others at their least and the
/// reverse, and numbers between that `seed` chooses. Greatest numbers are halved, the greatest one
/// first, until the values of a run have at most kMostCheckedElements elements. O(nodes) each time.
CheckedSizes checked_sizes(const IRModule& module, const std::vector<std::string>& names,
                           uint64_t seed);

/// Returns "N=4, T=17"; "" without sizes.
std::string run_label(const cli::RunSizes& sizes);

}  // namespace byoc::driver
