// SPDX-License-Identifier: Apache-2.0
#pragma once
// The candidates of each op with their costs, for a report.
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "byoc/base/status.h"

namespace byoc::driver {

/// Returns the functions of what `byoc explain --placement --json` prints, each with "function",
/// "predicted_ns" and "ops"; an op has "op", "name" and "candidates". Throws Json::exception for
/// another form.
nlohmann::ordered_json candidates_of(const nlohmann::ordered_json& placement);
/// Reads a file that `byoc explain --placement --json=FILE` wrote. Errors: kNotFound; slug
/// "placement" when the file has another form.
Result<nlohmann::ordered_json> read_candidates(const std::string& path);

}  // namespace byoc::driver
