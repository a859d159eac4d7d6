// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/tools/model/model_options.h"

namespace byoc::driver {

/// Prints the candidates of each op with their costs, or of the ops named `op`. With `diff`, a plan
/// file, prints what the choice by cost has otherwise than that plan.
Result<int> run_explain_placement(const ModelOptions& options, const std::string& op,
                                  const std::string& diff, const cli::CommonOptions& common);

}  // namespace byoc::driver
