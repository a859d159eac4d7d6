// SPDX-License-Identifier: Apache-2.0
#pragma once
// A module of kernels for NVIDIA's devices: loops as LLVM IR, and the IR as PTX.
#include <memory>

#include "plugins/cuda/code/equal_kernels.h"
#include "plugins/cuda/code/launch.h"
#include "plugins/cuda/plan/plan.h"
#include "plugins/llvm/machine/machine.h"

namespace llvm {
class LLVMContext;
}  // namespace llvm

namespace byoc::cuda {

/// A kind of device, by its compute capability: 80 for 8.0.
struct GpuTarget {
  int sm = 80;
  bool has_libraries = true;  // programs also have a form with calls of libraries
  friend bool operator==(const GpuTarget&, const GpuTarget&) = default;
};
/// Parses "80", "86", "89" or "90". Errors: kInvalidArgument naming them.
Result<GpuTarget> parse_gpu_target(std::string_view text);
/// Returns the oldest driver, as cuDriverGetVersion counts (11000 for 11.0), that reads our PTX for
/// the target.
int driver_for(const GpuTarget& target);

struct KernelOptions {
  std::string prefix;    // of the names of kernels
  size_t n_inputs = 0;   // inputs of a run; the other inputs of the loops are constants
  bool contract = true;  // a product and a sum may become one operation
};

/// Thread-compatible.
class GpuModule {
 public:
  static Result<std::unique_ptr<GpuModule>> make(const GpuTarget& target);
  ~GpuModule();
  /// Adds the kernels of `function`. Errors: kUnimplemented for code that no device has, such as
  /// calls of libm.
  Result<Program> add(const GroupFunction& function, const KernelOptions& options);
  /// Optimises all and returns the text of the module. Equal modules give equal text. Called once.
  Result<std::string> ptx();
  /// Returns the LLVM IR so far, for tests and listings.
  std::string llvm() const;

 private:
  GpuModule() = default;
  llvm_plugin::Machine machine_;
  std::unique_ptr<llvm::TargetMachine> target_;
  std::unique_ptr<llvm::LLVMContext> context_;
  std::unique_ptr<llvm::Module> module_;
  EqualKernels equal_;
};

}  // namespace byoc::cuda
