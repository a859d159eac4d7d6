// SPDX-License-Identifier: Apache-2.0
#pragma once
// The work of `byoc place`.
#include <nlohmann/json_fwd.hpp>

#include "byoc/place.h"
#include "core/tools/model/model_options.h"
#include "core/tools/place/search.h"
#include "core/tools/sizes/open_sizes.h"

namespace byoc::driver {

struct PlacedModel {
  PlaceOutcome outcome;
  AssumedSizes sizes;
  std::string plan;  // the file of the plan
};

/// Places the model of `options`, and writes the plan, and the files that `with` names. Errors:
/// slug "usage" for a time limit without meaning; those of place_model and of writing.
Result<PlacedModel> place_file(const ModelOptions& options, const std::vector<std::string>& inputs,
                               const PlaceOptions& with, const OnProgress& progress);
/// Returns the members of byoc.place/1.
nlohmann::ordered_json json_of(const PlacedModel& placed);

}  // namespace byoc::driver
