// SPDX-License-Identifier: Apache-2.0
#pragma once
// A processor as LLVM describes it, and the compilation of LLVM modules to objects for it.
#include <memory>
#include <string>

#include "byoc/te/target.h"

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace byoc::llvm_plugin {

/// The feature of processors that multiply tiles of bytes: registers of 16 rows of 64 bytes.
inline constexpr const char* kTiles = "amx-int8";

/// A kind of processor. Code uses the features that are listed and no others: the runtime checks
/// the processor for them by name (compat_of). The CPU's name affects scheduling alone.
struct Machine {
  std::string triple;
  std::string tune_cpu;               // "" when LLVM has no such name
  std::vector<std::string> features;  // "avx2", "fma", ...
  int vector_bits = 128;
  bool has(std::string_view feature) const;
  std::string feature_string() const;  // "+avx2,+fma"
};
/// Returns the features of this processor, as far as the runtime can check them.
te::Target host_target();
/// Returns the machine of a target; an empty cpu means this one. Errors: kInvalidArgument naming an
/// unknown architecture.
Result<Machine> machine_of(const te::Target& target);
/// Returns "cpu=avx2,fma", the machine in the compat string of a native module. Tiles are listed
/// where the code uses them: the runtime then requests them from the operating system.
std::string compat_of(const Machine& machine, bool has_tiles);
std::string llvm_version();

/// The effort of code generation: tables need little, code that is executed a few times per call
/// some, loops whose vectors and tiles are written already most, and loops with branches all.
enum class Effort { kLittle, kSome, kMost, kAll };
Result<std::unique_ptr<llvm::TargetMachine>> make_target_machine(const Machine& machine,
                                                                 Effort effort = Effort::kMost);
/// Sets the module's triple and data layout.
void set_target(llvm::Module& module, const llvm::TargetMachine& target);
/// Runs LLVM's passes, without vectorisers for loops that are marked so. Verifies the module first:
/// a broken one is a bug of byoc and stops here.
void optimise(llvm::Module& module, llvm::TargetMachine& target, Effort effort = Effort::kMost);
enum class CodeKind { kObject, kAssembly };
Result<std::string> generate(llvm::Module& module, llvm::TargetMachine& target, CodeKind kind);

}  // namespace byoc::llvm_plugin
