// SPDX-License-Identifier: Apache-2.0
#pragma once
// The bytes of a kernel's workspace, as byoc_native_fn has them.
#include <span>
#include <string>

#include "byoc/te/expr.h"

namespace byoc::llvm_plugin {

/// A multiple of 64 bytes.
struct Workspace {
  uint64_t bytes = 0;         ///< of every run; 0 where they depend on its sizes
  std::string by_sizes = {};  ///< byoc_native_fn::open_workspace; empty: `bytes`
};

/// Returns the workspace of so many bytes, an expression of numbers and of `sizes`. These have
/// numbers for names, "64*#0", so that functions with sizes of other names share a kernel. Errors:
/// kUnimplemented for operations that expressions of sizes in artifacts lack.
Result<Workspace> workspace_of(const te::Expr& bytes, std::span<const te::Var> sizes);
/// Returns the workspace with these names of its sizes.
Workspace with_names(Workspace workspace, std::span<const std::string> names);

}  // namespace byoc::llvm_plugin
