// SPDX-License-Identifier: Apache-2.0
#pragma once
// Facts about sizes that a model itself has: bounds by its windows and tables, and equal sizes.
#include <map>
#include <string>
#include <vector>

#include "byoc/ir/dim.h"
#include "byoc/op/registry.h"

namespace byoc::onnx_import {

struct SizeLimit {
  int64_t least = 0, most = Dim::kUnbounded;
  bool has_table = false;  ///< a table has `most` entries
  std::string equal;       ///< the number or expression of other sizes that it is; "": none
  friend bool operator==(const SizeLimit&, const SizeLimit&) = default;
};
using SizeLimits = std::map<std::string, SizeLimit>;  ///< by the size's name

/// Notes that a size is at most a number; the smallest counts.
void note_most(SizeLimits& limits, Dim size, int64_t most);
/// Notes that a size is `extent`, where that is within its bounds; the first extent counts.
void note_equal(SizeLimits& limits, Dim size, Dim extent);
/// Notes the limits of sizes at which an op that refuses its operands takes them: at least what
/// windows reach over, at most a number where the op needs a bound. Nothing where there are none up
/// to 4096, or where the sizes have bounds.
void note_limits(SizeLimits& limits, const OpDef& op, const std::vector<TypeId>& types,
                 const Attrs& attrs);
/// Puts the extents of note_equal in the place of their sizes. Errors: those of with_sizes.
Status set_equal_sizes(const SizeLimits& known, std::vector<TensorType>& types);

}  // namespace byoc::onnx_import
