// SPDX-License-Identifier: Apache-2.0
#pragma once
// The work of `byoc explain --placement`.
#include "core/tools/model/model_options.h"
#include "core/tools/place/borders.h"
#include "core/tools/place/placement_text.h"

namespace byoc::driver {

/// Returns the choice by cost for the model of `options`, with auto among the plugins.
Result<ExplainedPlacement> explained_placement(const ModelOptions& options);
/// Returns the borders of the choice by cost, as regions and the default codegen's functions have
/// them when they are compiled.
Result<std::vector<Border>> borders_by_cost(const ModelOptions& options);

}  // namespace byoc::driver
