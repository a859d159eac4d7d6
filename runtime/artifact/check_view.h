// SPDX-License-Identifier: Apache-2.0
#pragma once
// A caller's view against the type a program wants.
#include "byoc/runtime/artifact.h"
#include "byoc/runtime/tensor.h"

namespace byoc {

/// Device, dtype, shape and presence of data, in the user's words. kind: "input" or "output", the
/// slug's first half.
Status check_view(const char* kind, const DLTensor& view, const NamedTensor& wanted);

}  // namespace byoc
