// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers for the open sizes of a model that is to be run.
#include <nlohmann/json_fwd.hpp>

#include "core/tools/model/model_options.h"

namespace byoc::driver {

/// A size that neither a flag nor an input gives, and the number that it gets.
struct AssumedSize {
  std::string name;  // "N"; "x_dim0" for a dim without a name
  int64_t extent = 1;
};
using AssumedSizes = std::vector<AssumedSize>;

/// Adds to `--shape` the shapes of inputs that have open sizes. Sizes are those of --shape and
/// --bind, else those of the values in `inputs` (as --input), else 1, or the lower bound when
/// that is greater. Returns the last kind, by input. Artifacts are left as they are.
/// Errors: of reading the model's inputs and values.
Result<AssumedSizes> set_open_sizes(ModelOptions& options, const std::vector<std::string>& inputs);

/// Returns "sizes that no input gives: N=1 (...)" with a line break; "" when there are none.
std::string assumed_text(const AssumedSizes& sizes);
/// Adds the member "assumed_sizes", when there are some.
void add_assumed_json(const AssumedSizes& sizes, nlohmann::ordered_json& json);

}  // namespace byoc::driver
