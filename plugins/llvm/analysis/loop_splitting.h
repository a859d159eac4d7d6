#pragma once
// Loops in parts: what guards the edges of an image costs nothing in its midst.
#include <vector>

#include "plugins/llvm/analysis/ranges.h"

namespace byoc::llvm_plugin {

/// Of the loop's iterations, counted from its begin: `last` is not included.
struct Part {
  int64_t first, last;
};

/// Parts of a loop of constant bounds such that conditions inside are known in some of them that
/// are not known in all of the loop; at most three. One part where that gains nothing or the
/// loop's code, `copies` times as it is, would become too long.
std::vector<Part> parts_of(const te::For& loop, Ranges ranges, int64_t copies);

}  // namespace byoc::llvm_plugin
