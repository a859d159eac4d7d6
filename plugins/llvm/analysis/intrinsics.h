// SPDX-License-Identifier: Apache-2.0
#pragma once
// Intrinsics without a declaration that schedules add to loops.

namespace byoc::llvm_plugin {

/// The name of the intrinsic that loads the line of its place into the second cache. A place
/// outside of its tensor has no effect; te::evaluate skips it.
inline constexpr const char* kPrefetch = "prefetch";

}  // namespace byoc::llvm_plugin
