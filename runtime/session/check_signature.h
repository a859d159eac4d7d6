// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a kernel says of its arguments against what a program passes to it.
#include "byoc/runtime/artifact.h"

namespace byoc {

/// What a call reads, in order, and what it writes.
struct CallTypes {
  std::vector<TensorSpec> reads, writes;
};

/// `signature`: as in byoc_kernel_info. Errors: kInvalidArgument, slug "kernel-types", with the
/// first argument that differs and both of its types.
Status check_signature(std::string_view signature, const CallTypes& call);

}  // namespace byoc
