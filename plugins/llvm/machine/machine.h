// SPDX-License-Identifier: Apache-2.0
#pragma once
// A processor as LLVM knows it, and LLVM modules made into objects for it.
#include <memory>
#include <string>

#include "byoc/te/target.h"

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace byoc::llvm_plugin {

/// Code uses the features that are listed and no others: the runtime asks the processor for them by
/// name (compat_of). The CPU's name decides about scheduling alone.
struct Machine {
  std::string triple;
  std::string tune_cpu;               // "" when LLVM does not know the name
  std::vector<std::string> features;  // "avx2", "fma", ...
  int vector_bits = 128;
  bool has(std::string_view feature) const;
  std::string feature_string() const;  // "+avx2,+fma"
};
/// What the processor here can do, as far as the runtime can check it.
te::Target host_target();
/// An empty cpu means the one here. Errors: kInvalidArgument naming an architecture that is not
/// known.
Result<Machine> machine_of(const te::Target& target);
/// "cpu=avx2,fma", what a native module's compat string says of it.
std::string compat_of(const Machine& machine);
std::string llvm_version();

/// Of code generation: tables need little, code that is executed a few times per call some.
enum class Effort { kLittle, kSome, kMost };
Result<std::unique_ptr<llvm::TargetMachine>> make_target_machine(const Machine& machine,
                                                                 Effort effort = Effort::kMost);
/// Sets the module's triple and data layout.
void set_target(llvm::Module& module, const llvm::TargetMachine& target);
/// LLVM's own passes, without vectorisers where loops say so; below kMost those alone that make
/// values of memory. The module is verified before: a broken one is our bug and stops here.
void optimise(llvm::Module& module, llvm::TargetMachine& target, Effort effort = Effort::kMost);
enum class CodeKind { kObject, kAssembly };
Result<std::string> generate(llvm::Module& module, llvm::TargetMachine& target, CodeKind kind);

}  // namespace byoc::llvm_plugin
