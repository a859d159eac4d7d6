// SPDX-License-Identifier: Apache-2.0
#pragma once
// A compiled function: its kernels, and how they are called.
#include <memory>
#include <optional>

#include "plugins/llvm/native.h"
#include "plugins/llvm/split.h"

namespace byoc::llvm_plugin {

/// A kernel that makes packed constants of a function's constants, on the machine that compiles.
struct ConstantKernel {
  std::shared_ptr<const Kernel> kernel;
  std::vector<uint64_t> output_bytes;  // per packed constant
  std::vector<uint64_t> reads;         // per input of the kernel: the number of the constant
  std::vector<bool> is_kept;           // per constant: the function's kernel still reads it
};

struct CompiledFunction {
  std::vector<std::shared_ptr<const Kernel>> kernels;  // one, or those of the sequence's pieces
  std::optional<Sequence> sequence;
  std::optional<ConstantKernel> constants;  // of the only kernel
};

}  // namespace byoc::llvm_plugin
