// SPDX-License-Identifier: Apache-2.0
#pragma once
// ONNX's operators that byoc does not support, with the reasons.
#include <optional>
#include <string>
#include <string_view>

namespace byoc::onnx_import {

/// Why a node is refused, and what to do.
struct Refusal {
  std::string reason, cure;
};

inline constexpr const char* kReplaceCure =
    "replace the operator before the export by those of ai.onnx";

/// The cure for operators that ONNX Runtime's optimizer writes.
inline constexpr const char* kUnoptimizedCure =
    "export without graph optimisation: use the model as it was before ONNX Runtime optimised it "
    "(its level is at most ORT_ENABLE_BASIC)";

/// Returns the refusal of an operator of the default domain that ONNX has and byoc does not
/// support; nullopt for all others.
std::optional<Refusal> known_refusal(std::string_view op_type);

}  // namespace byoc::onnx_import
