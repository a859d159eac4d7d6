// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compiles many loop functions to kernels, in parallel, equal ones once, and uses the cache.
#include <functional>

#include "byoc/base/buffer.h"
#include "byoc/plugin/abi.h"
#include "plugins/llvm/cache.h"

namespace byoc::llvm_plugin {

/// Calls work(k) for every k below n, from any threads.
using ForEach = std::function<void(size_t n, const std::function<void(size_t)>& work)>;

struct CompileOptions {
  EmitOptions emit;
  ForEach for_each;                            // empty: one after another on this thread
  const KernelCache* cache = nullptr;          // null: none
  std::function<bool()> is_cancelled;          // called between kernels
  std::function<void(uint32_t)> set_progress;  // permille; from any of the threads
};
/// The kernel of each function; equal functions have the same one.
struct Compiled {
  std::vector<std::shared_ptr<const Kernel>> kernels;
  std::vector<Status> errors;  // per function
};
Compiled compile_kernels(std::span<const te::LoopFunction> functions, const Machine& machine,
                         const CompileOptions& options);

/// Loops that make packed constants.
struct ConstantJob {
  const te::LoopFunction* loops;
  std::vector<const void*> inputs;
};
using Buffers = std::vector<std::shared_ptr<const Buffer>>;
/// Compiles the loops for this machine, runs them, and returns the outputs per job. `host` is used by
/// the code. Errors: those of compile_kernels and of loading.
Result<std::vector<Buffers>> run_constants(std::span<const ConstantJob> jobs,
                                           CompileOptions options, const byoc_host* host);

}  // namespace byoc::llvm_plugin
