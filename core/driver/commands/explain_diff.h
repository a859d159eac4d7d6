// SPDX-License-Identifier: Apache-2.0
#pragma once
// byoc explain --diff: what another explanation has otherwise.
#include <nlohmann/json_fwd.hpp>

#include "core/tools/model/model_options.h"

namespace byoc::driver {

/// Prints the ops that `before` places otherwise than `after`, the explanation of `options`.
/// `before` is a file of `byoc explain --json`, a model that is explained with the same flags, or
/// settings such as "compiler=llvm" for the same model. Errors: slug "explanation", "usage"; those
/// of reading and explaining.
Result<int> run_explain_diff(const std::string& before, const ModelOptions& options,
                             const nlohmann::ordered_json& after, const cli::CommonOptions& common);

}  // namespace byoc::driver
