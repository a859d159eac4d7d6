// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tables of `byoc ops --support`.
#include <nlohmann/json_fwd.hpp>

#include "core/tools/coverage/coverage.h"

namespace byoc::driver {

/// Returns a table of ops and plugins and, when `with_onnx`, one of ONNX's operators and opsets.
std::string support_text(const Coverage& coverage, bool with_onnx, bool markdown);
nlohmann::ordered_json support_json(const Coverage& coverage, bool with_onnx);

}  // namespace byoc::driver
