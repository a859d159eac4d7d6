// SPDX-License-Identifier: Apache-2.0
#include "plugins/cuda/code/equal_kernels.h"

#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

namespace byoc::cuda {
namespace {

// Returns the shared memory of a kernel, which is a part of it, in the order of the module.
std::vector<llvm::GlobalVariable*> shared_of(llvm::Function& kernel) {
  std::vector<llvm::GlobalVariable*> out;
  for (llvm::GlobalVariable& memory : kernel.getParent()->globals())
    if (memory.getName().starts_with((kernel.getName() + "_shared").str())) out.push_back(&memory);
  return out;
}

// Returns the code with a letter in the place of the kernel's name.
std::string code_of(llvm::Function& kernel) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (llvm::GlobalVariable* memory : shared_of(kernel)) stream << *memory << '\n';
  stream << kernel;
  const std::string name = "@" + kernel.getName().str();
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 2))
    text.replace(at, name.size(), "@k");
  return text;
}

}  // namespace

std::string EqualKernels::name_of(llvm::Function& kernel, uint32_t threads) {
  std::string code = code_of(kernel) + std::to_string(threads);
  const auto [known, is_new] = names_.emplace(std::move(code), kernel.getName().str());
  if (is_new) return known->second;
  const std::vector<llvm::GlobalVariable*> memory = shared_of(kernel);
  kernel.eraseFromParent();
  for (llvm::GlobalVariable* one : memory) {
    one->removeDeadConstantUsers();
    one->eraseFromParent();
  }
  return known->second;
}

}  // namespace byoc::cuda
