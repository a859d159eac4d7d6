// SPDX-License-Identifier: Apache-2.0
#pragma once
// The work of `byoc report`.
#include <nlohmann/json_fwd.hpp>

#include "byoc/report.h"
#include "core/tools/report/configuration.h"

namespace byoc::driver {

/// Checks the options, except "-" as the page's file, without work.
Status check_report(const ReportOptions& with);
/// Returns the members of byoc.report/1, which the page is made of. Nothing is written. `warn` may
/// be empty; `watch` returns false to end the work.
Result<nlohmann::ordered_json> report_file(const ModelOptions& options,
                                           const std::vector<std::string>& inputs,
                                           const ReportOptions& with, const Warn& warn,
                                           const measure::Watch& watch);
/// Returns the warnings about the results: of a busy machine, of models that do not compile.
std::vector<std::string> report_warnings(const nlohmann::ordered_json& data);

}  // namespace byoc::driver
