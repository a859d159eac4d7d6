// SPDX-License-Identifier: Apache-2.0
#pragma once
// The bytes of a kernel's workspace, as byoc_native_fn has them.
#include <string>

#include "byoc/te/expr.h"

namespace byoc::llvm_plugin {

/// A multiple of 64 bytes.
struct Workspace {
  uint64_t bytes = 0;         ///< of every run; 0 where they depend on its sizes
  std::string by_sizes = {};  ///< byoc_native_fn::open_workspace; empty: `bytes`
};

/// Returns the workspace of so many bytes, an expression of numbers and sizes. Errors:
/// kUnimplemented for operations that expressions of sizes in artifacts lack.
Result<Workspace> workspace_of(const te::Expr& bytes);

}  // namespace byoc::llvm_plugin
