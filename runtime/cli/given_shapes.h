// SPDX-License-Identifier: Apache-2.0
#pragma once
// The shapes that values of --input state, for models that run on more than one.
#include <optional>

#include "runtime/cli/values.h"

namespace byoc::cli {

/// The shape of one input as its value states it. Neither member is set for values that fit every
/// shape, such as "zeros" and "0.5", and for inputs without a value.
struct GivenShape {
  std::optional<std::vector<int64_t>> extents;  // of "a.npy" and "f32[2,3]=0"
  int64_t elements = 0;                         // of "1,2,3": 3
  /// Returns true when a value of these extents agrees with what is stated.
  bool fits(const std::vector<int64_t>& dims) const;
};

/// Returns a shape per name. Values for other names are skipped; make_inputs reports them. Errors:
/// those of readers.
Result<std::vector<GivenShape>> given_shapes(const std::vector<std::string>& names,
                                             const std::vector<std::string>& bindings,
                                             const TensorReaders& readers);

}  // namespace byoc::cli
