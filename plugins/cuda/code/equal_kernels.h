// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds kernels with the same code, of which networks have many: the addresses of equal layers are
// all that differs.
#include <string>
#include <unordered_map>

namespace llvm {
class Function;
}  // namespace llvm

namespace byoc::cuda {

/// The kernels of one module. Thread-compatible.
class EqualKernels {
 public:
  /// Returns the name of the first kernel that has the code of `kernel` and as many threads in a
  /// group, and removes `kernel` where that is another one.
  std::string name_of(llvm::Function& kernel, uint32_t threads);

 private:
  std::unordered_map<std::string, std::string> names_;  // by code
};

}  // namespace byoc::cuda
