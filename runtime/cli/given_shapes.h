// SPDX-License-Identifier: Apache-2.0
#pragma once
// The shapes that values of --input state, for models that run on more than one.
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "byoc/runtime/sizes.h"
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

/// A size of an artifact that has several.
struct PickedSize {
  Executable executable;
  std::string label;                // empty in an artifact of one size
  std::vector<std::string> labels;  // of all sizes
  bool is_given = false;            // false: no value states a shape, so it is the first one
};
/// Picks the first size that has the shapes of the values in `bindings`. Errors: those of
/// given_shapes; slug "input-size", with the sizes that there are.
Result<PickedSize> pick_size(std::vector<SizedExecutable> sizes,
                             const std::vector<std::string>& bindings,
                             const TensorReaders& readers);
/// Returns "size N=4 of N=1, N=4" with a line break; "" in an artifact of one size.
std::string size_text(const PickedSize& picked);
/// Adds the members "size" and "sizes", when there are several sizes.
void add_size_json(const PickedSize& picked, nlohmann::ordered_json& json);

}  // namespace byoc::cli
