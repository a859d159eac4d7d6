// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compiles many loop functions to kernels, in parallel, equal ones once, and uses the cache.
#include <functional>

#include "byoc/plugin/sdk/host.h"
#include "plugins/llvm/cache.h"
#include "plugins/llvm/for_each.h"

namespace byoc::llvm_plugin {

struct CompileOptions {
  ForEach for_each;                            // empty: one after another on this thread
  const KernelCache* cache = nullptr;          // null: none
  std::function<bool()> is_cancelled;          // called between kernels
  std::function<void(uint32_t)> set_progress;  // permille; from any of the threads
};
/// Loops to compile, for a machine.
struct KernelJob {
  const te::LoopFunction* loops;
  const Machine* machine;
  EmitOptions emit;
};
/// The kernel of each job; equal ones are the same.
struct Compiled {
  std::vector<std::shared_ptr<const Kernel>> kernels;
  std::vector<Status> errors;  // per job
};
Compiled compile_kernels(std::span<const KernelJob> jobs, const CompileOptions& options);

/// A function of code that makes packed constants.
struct ConstantMaker {
  uint64_t workspace_bytes = 0;
  std::vector<uint64_t> output_bytes;  // per packed constant
};
/// Code that makes packed constants, for this machine.
struct ConstantCode {
  std::string object;  // a native module; empty: no functions
  std::vector<ConstantMaker> makers;
};
/// Links kernels that make packed constants. Errors: those of link_native.
Result<ConstantCode> link_constants(std::span<const ConstantKernel* const> kernels,
                                    const Machine& machine);
/// A packed constant, in memory that the host shares between equal ones.
struct PackedConstant {
  std::span<const std::byte> bytes;
  std::shared_ptr<const sdk::Held> held;
};
using PackedConstants = std::vector<PackedConstant>;

/// The constants that a maker reads: their elements, and their keys one after another.
struct ConstantInputs {
  std::vector<const void*> data;
  std::string keys;
};
/// Runs the code on inputs per maker, and returns the outputs per maker. Throws sdk::Error when
/// memory is short or the code fails. Errors: those of loading.
Result<std::vector<PackedConstants>> run_constants(const ConstantCode& code,
                                                   std::span<const ConstantInputs> inputs);

}  // namespace byoc::llvm_plugin
