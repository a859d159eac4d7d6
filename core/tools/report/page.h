// SPDX-License-Identifier: Apache-2.0
#pragma once
// The page of a report.
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace byoc::driver {

/// Returns one HTML file with the data of report_json in it, which a browser shows without network.
/// The text of its element with the id "data" is the JSON that `byoc report --json` prints.
std::string report_page(const nlohmann::ordered_json& data);

}  // namespace byoc::driver
