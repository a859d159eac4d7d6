// SPDX-License-Identifier: Apache-2.0
#pragma once
// The shapes that values of --input state, and the sizes of a run, for models that have several.
#include <map>
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
  /// Returns true when a value of a type agrees with what is stated. Notes open sizes in `sizes`,
  /// and refuses those that disagree with the ones there.
  bool fits(const TensorSpec& type, std::map<std::string, int64_t>& sizes) const;
};

/// Returns a shape per name. Values for other names are skipped; make_inputs reports them. Errors:
/// those of readers.
Result<std::vector<GivenShape>> given_shapes(const std::vector<std::string>& names,
                                             const std::vector<std::string>& bindings,
                                             const TensorReaders& readers);

/// Sizes of a run: a number for a named size, all dims for an input.
using RunSizes = std::map<std::string, std::vector<int64_t>>;
/// Reads "T=17", "B=2,T=17", "x=2x17". Errors: slug "usage", naming `flag`, for ranges, lists and
/// names that occur twice.
Result<RunSizes> parse_run_sizes(const std::vector<std::string>& texts, const char* flag);

/// A size of an artifact that has several.
struct PickedSize {
  Executable executable;
  std::string label;                // empty in an artifact of one size
  std::vector<std::string> labels;  // of all sizes
  bool is_given = false;            // false: nothing states a shape, so it is the first one
  RunSizes run = {};                // the sizes of the run that are open in it
};
/// Picks the size that has the shapes of the values in `bindings` and the sizes of the run: the one
/// with the fewest open sizes, and of these the first. Errors: those of given_shapes; slug
/// "input-size", with the sizes that there are; slug "usage" for a name that no size has.
Result<PickedSize> pick_size(std::vector<SizedExecutable> sizes,
                             const std::vector<std::string>& bindings, const RunSizes& run,
                             const TensorReaders& readers);

/// A size that nothing gives, and the number that it gets.
struct AssumedSize {
  std::string name;  // "N"; "x_dim0" for a dim without a name
  int64_t extent = 1;
};
using AssumedSizes = std::vector<AssumedSize>;
/// Returns "open sizes: N=1, which ..." with a line break; "" when there are none.
std::string assumed_text(const AssumedSizes& sizes);
/// Adds the member "assumed_sizes", when there are some.
void add_assumed_json(const AssumedSizes& sizes, nlohmann::ordered_json& json);

/// The inputs of a run of an open program as bindings with shapes.
struct RunInputs {
  std::vector<std::string> bindings;
  AssumedSizes assumed;  // 1, or the least number when that is greater
};
/// Returns `bindings` with the sizes of the run: "x=0.5" becomes "x=f32[2,17]=0.5", and an input
/// without a value "x=f32[2,17]", which is random. Where no dim is open they stay as they are.
/// Errors: those of given_shapes; slug "input-size" for a size outside of its bounds;
/// "input-shape" for values and sizes that disagree; "usage" for a name that is no size.
Result<RunInputs> inputs_of_run(const std::vector<NamedTensor>& inputs,
                                std::span<const OpenSize> sizes,
                                const std::vector<std::string>& bindings, const RunSizes& run,
                                const TensorReaders& readers);
/// Returns "size N=4 of N=1, N=4" with a line break; "" in an artifact of one size.
std::string size_text(const PickedSize& picked);
/// Adds the members "size" and "sizes", when there are several sizes.
void add_size_json(const PickedSize& picked, nlohmann::ordered_json& json);

}  // namespace byoc::cli
