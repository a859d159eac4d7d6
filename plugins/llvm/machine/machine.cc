// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/machine/machine.h"

#include <algorithm>
#include <mutex>
#include <new>

#include "byoc/base/check.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"
#include "plugins/llvm/machine/passes.h"

namespace byoc::llvm_plugin {
namespace {

// The features that runtime/session/native.cc can check.
constexpr std::string_view kCheckedFeatures[] = {
    "sse2",     "sse3",     "ssse3",    "sse4.1",   "sse4.2",     "popcnt",  "avx",
    "avx2",     "fma",      "f16c",     "bmi",      "bmi2",       "lzcnt",   "avx512f",
    "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512vnni", "avxvnni", kTiles};

bool is_checked(std::string_view feature) {
  return std::find(std::begin(kCheckedFeatures), std::end(kCheckedFeatures), feature) !=
         std::end(kCheckedFeatures);
}

// Disables the code generator's loop strength reduction. It gives every access of an unrolled tile
// a pointer of its own, more than there are registers, where emit/ wrote one pointer with
// displacements. Sets the option's default, because lld sets all options back to their defaults.
void disable_strength_reduction() {
  auto& options = llvm::cl::getRegisteredOptions();
  auto found = options.find("disable-lsr");
  if (found == options.end()) return;
  static_cast<llvm::cl::opt<bool>*>(found->second)->setInitialValue(true);
}

void initialise_targets() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    disable_strength_reduction();
    // Otherwise LLVM, which is built without exceptions, aborts the process when malloc fails.
    llvm::install_bad_alloc_error_handler([](void*, const char*, bool) { throw std::bad_alloc(); });
  });
}

Result<const llvm::Target*> find_target(const std::string& triple) {
  initialise_targets();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (target == nullptr) return invalid(cat("no code for ", triple, ": ", error));
  return target;
}

// Reads what the processor has, which takes LLVM about as long as judging an op.
te::Target find_host_target() {
  te::Target target;
  auto present = llvm::sys::getHostCPUFeatures();
  for (std::string_view feature : kCheckedFeatures) {
    if (feature != kTiles && present.lookup(llvm::StringRef(feature)))
      target.features.emplace_back(feature);
  }
  const Result<te::Target> native = te::parse_target("native");  // reads the operating system, too
  if (native.ok() && native->has(kTiles)) target.features.emplace_back(kTiles);
#if defined(__aarch64__)
  target.arch = "aarch64";
#endif
  target.cpu = llvm::sys::getHostCPUName().str();
  return target;
}

int vector_bits_of(const Machine& machine) {
  if (machine.has("avx512f")) return 512;
  return machine.has("avx") ? 256 : 128;
}

}  // namespace

bool Machine::has(std::string_view feature) const {
  return std::find(features.begin(), features.end(), feature) != features.end();
}

std::string Machine::feature_string() const {
  std::string out;
  for (const std::string& feature : features) out += cat(out.empty() ? "+" : ",+", feature);
  return out;
}

te::Target host_target() {
  static const te::Target host = find_host_target();
  return host;
}

Result<Machine> machine_of(const te::Target& target) {
  if (target.cpu.empty()) return machine_of(host_target());
  if (target.arch != "x86_64" && target.arch != "aarch64") {
    return invalid(cat("no code for architecture \"", target.arch, "\"; known: x86_64, aarch64"));
  }
  Machine machine{target.arch + "-unknown-linux-gnu", "", target.features};
  if (target.arch == "x86_64")
    std::erase_if(machine.features, [](const std::string& f) { return !is_checked(f); });
  machine.vector_bits = target.arch == "x86_64" ? vector_bits_of(machine) : 128;
  BYOC_CHECK(machine.vector_bits >= 128 && machine.vector_bits % 128 == 0, "vectors of ",
             machine.vector_bits, " bits");
  BYOC_TRY(const llvm::Target* backend, find_target(machine.triple));
  std::unique_ptr<llvm::MCSubtargetInfo> info(
      backend->createMCSubtargetInfo(machine.triple, "", ""));
  if (info->isCPUStringValid(target.cpu)) machine.tune_cpu = target.cpu;
  return machine;
}

std::string compat_of(const Machine& machine, bool has_tiles) {
  std::string out;
  for (const std::string& feature : machine.features) {
    if (is_checked(feature) && (has_tiles || feature != kTiles))
      out += cat(out.empty() ? "" : ",", feature);
  }
  return cat("cpu=", out);
}

std::string llvm_version() { return LLVM_VERSION_STRING; }

Result<std::unique_ptr<llvm::TargetMachine>> make_target_machine(const Machine& machine,
                                                                 Effort effort) {
  BYOC_TRY(const llvm::Target* target, find_target(machine.triple));
  llvm::TargetOptions options;
  constexpr llvm::CodeGenOptLevel kLevels[] = {
      llvm::CodeGenOptLevel::None, llvm::CodeGenOptLevel::Less, llvm::CodeGenOptLevel::Aggressive,
      llvm::CodeGenOptLevel::Aggressive};
  const auto level = static_cast<size_t>(effort);
  BYOC_CHECK(level < std::size(kLevels), "effort ", level, " of ", std::size(kLevels));
  std::unique_ptr<llvm::TargetMachine> out(
      target->createTargetMachine(machine.triple, "", machine.feature_string(), options,
                                  llvm::Reloc::PIC_, std::nullopt, kLevels[level]));
  if (!out) return invalid(cat("LLVM makes no code for ", machine.triple));
  return out;
}

void set_target(llvm::Module& module, const llvm::TargetMachine& target) {
  module.setTargetTriple(target.getTargetTriple().str());
  module.setDataLayout(target.createDataLayout());
}

void optimise(llvm::Module& module, llvm::TargetMachine& target, Effort effort) {
  std::string error;
  llvm::raw_string_ostream errors(error);
  BYOC_CHECK(!llvm::verifyModule(module, &errors), "broken LLVM IR: ", error);
  llvm::PipelineTuningOptions tuning;
  tuning.SLPVectorization = false;
  tuning.LoopVectorization = true;  // loops with emitted vectors carry "no"
  llvm::PassBuilder builder(&target, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes =
      effort == Effort::kAll ? builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2)
                             : passes_of(effort);
  // Loops get blocks before them, which the code generator makes for its strength reduction alone.
  // Where a branch goes to one of several loops, what each begins with would otherwise be in
  // registers at once, before the branch, and the sums of the longest tile be in memory.
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(llvm::LoopSimplifyPass()));
  passes.run(module, modules);
}

Result<std::string> generate(llvm::Module& module, llvm::TargetMachine& target, CodeKind kind) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  auto type = kind == CodeKind::kObject ? llvm::CodeGenFileType::ObjectFile
                                        : llvm::CodeGenFileType::AssemblyFile;
  if (target.addPassesToEmitFile(passes, stream, nullptr, type)) {
    return unimplemented(cat("LLVM writes no such file for ", target.getTargetTriple().str()));
  }
  passes.run(module);
  BYOC_CHECK(!bytes.empty(), "LLVM wrote no code for ", module.getName().str());
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace byoc::llvm_plugin
