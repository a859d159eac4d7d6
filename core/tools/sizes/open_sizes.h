// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers for the open sizes of a model that is to be run.
#include "core/tools/model/model_options.h"
#include "runtime/cli/given_shapes.h"

namespace byoc::driver {

using cli::AssumedSize, cli::AssumedSizes, cli::assumed_text, cli::add_assumed_json;

/// Adds to `--shape` the shapes of inputs that have open sizes. Sizes are those of --shape and
/// --bind, else those of the values in `inputs` (as --input), else 1, or the lower bound when
/// that is greater. Returns the last kind, by input. Artifacts are left as they are.
/// Errors: of reading the model's inputs and values.
Result<AssumedSizes> set_open_sizes(ModelOptions& options, const std::vector<std::string>& inputs);

}  // namespace byoc::driver
