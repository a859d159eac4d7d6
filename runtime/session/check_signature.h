// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compares a kernel's signature with the types that a program passes to it.
#include "byoc/runtime/artifact.h"

namespace byoc {

/// The types that a call reads, in order, and those that it writes.
struct CallTypes {
  std::vector<TensorSpec> reads, writes;
};

/// Compares the two. `signature`: as in byoc_kernel_info. Errors: kInvalidArgument, slug
/// "kernel-types", with the first argument that differs and both of its types.
Status check_signature(std::string_view signature, const CallTypes& call);

}  // namespace byoc
