// SPDX-License-Identifier: Apache-2.0
#pragma once
// An explanation as `byoc explain --json` prints it.
#include <nlohmann/json_fwd.hpp>

#include "core/tools/model/model_options.h"
#include "core/tools/show/explanation.h"

namespace byoc::driver {

/// Facts about the imported model.
struct ModelFacts {
  int64_t opset = 0;  // 0: the file is not ONNX
  uint64_t weight_bytes = 0;
};
ModelFacts facts_of(const IRModule& module);

/// Returns "refused", "not reached", ...
std::string_view verdict_text(Opinion::Kind kind);
/// Returns the fields of byoc.explain/1. With `only_op` the lists have the ops of that name alone.
nlohmann::ordered_json explanation_json(const Explanation& explanation, const ModelOptions& options,
                                        const ModelFacts& facts, const std::string& only_op = "");

}  // namespace byoc::driver
