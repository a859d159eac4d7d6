// SPDX-License-Identifier: Apache-2.0
#pragma once
// The work of `byoc explain`.
#include <nlohmann/json_fwd.hpp>

#include "core/tools/model/model_options.h"
#include "core/tools/show/explanation_json.h"

namespace byoc::driver {

struct Explained {
  Explanation explanation;
  ModelFacts facts;
};

/// Explains the model of `options`, whose report of tuning is filled.
Result<Explained> explain_file(const ModelOptions& options, const std::string& selected = "");
/// Returns the members of byoc.explain/1. With `only_op` the lists have the ops of that name only.
nlohmann::ordered_json json_of(const Explained& explained, const ModelOptions& options,
                               const std::string& only_op = "");

/// Returns the error for a name that no op has; its help has ops whose name or kind is like it.
Status unknown_node(const Explanation& explanation, const std::string& name);

}  // namespace byoc::driver
