// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compares a caller's view with the type that a program expects.
#include "byoc/runtime/artifact.h"
#include "byoc/runtime/device_type.h"
#include "byoc/runtime/tensor.h"

namespace byoc {

/// The type of a bool in DLPack since 0.8, kDLBool. byoc takes it for what to_dlpack returns.
inline constexpr DLDataType kDlpackBool{6, 8, 1};

/// Checks device, dtype and shape; messages use the user's words. kind: "input" or "output", the
/// slug's first half.
Status check_type(const char* kind, const DLTensor& view, const NamedTensor& wanted);

/// As check_type, and that there are data.
Status check_view(const char* kind, const DLTensor& view, const NamedTensor& wanted);

}  // namespace byoc
