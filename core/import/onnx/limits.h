// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bounds that a model itself gives sizes: from the windows and the tables that it has.
#include <map>
#include <string>
#include <vector>

#include "byoc/ir/dim.h"
#include "byoc/op/registry.h"

namespace byoc::onnx_import {

struct SizeLimit {
  int64_t least = 0, most = Dim::kUnbounded;
  bool has_table = false;  ///< a table has `most` entries
  friend bool operator==(const SizeLimit&, const SizeLimit&) = default;
};
using SizeLimits = std::map<std::string, SizeLimit>;  ///< by the size's name

/// Notes that a size is at most a number; the smallest counts.
void note_most(SizeLimits& limits, Dim size, int64_t most);
/// Notes the limits of sizes at which an op that refuses its operands takes them: at least what
/// windows reach over, at most a number where the op needs a bound. Nothing where there are none up
/// to 4096, or where the sizes have bounds.
void note_limits(SizeLimits& limits, const OpDef& op, const std::vector<TypeId>& types,
                 const Attrs& attrs);

}  // namespace byoc::onnx_import
