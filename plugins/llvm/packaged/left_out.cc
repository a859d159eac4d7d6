// SPDX-License-Identifier: Apache-2.0
// Symbols that lld refers to and a package does not have: targets of machines that byoc does not
// compile for, parsers of assembly, Polly, which Debian's LLVM has as an extension, and the
// optimization of bitcode, which the plugin never gives to lld. lld calls these functions in every
// link, with bitcode or without.
#include <vector>

#include "llvm/Passes/PassPlugin.h"
#include "llvm/Support/ErrorHandling.h"

#define BYOC_LEFT_OUT(target)                  \
  void LLVMInitialize##target##TargetInfo() {} \
  void LLVMInitialize##target##Target() {}     \
  void LLVMInitialize##target##TargetMC() {}   \
  void LLVMInitialize##target##AsmPrinter() {} \
  void LLVMInitialize##target##AsmParser() {}

extern "C" {
BYOC_LEFT_OUT(AMDGPU)
BYOC_LEFT_OUT(ARM)
BYOC_LEFT_OUT(AVR)
BYOC_LEFT_OUT(BPF)
BYOC_LEFT_OUT(Hexagon)
BYOC_LEFT_OUT(Lanai)
BYOC_LEFT_OUT(LoongArch)
BYOC_LEFT_OUT(M68k)
BYOC_LEFT_OUT(Mips)
BYOC_LEFT_OUT(MSP430)
BYOC_LEFT_OUT(NVPTX)
BYOC_LEFT_OUT(PowerPC)
BYOC_LEFT_OUT(RISCV)
BYOC_LEFT_OUT(Sparc)
BYOC_LEFT_OUT(SystemZ)
BYOC_LEFT_OUT(VE)
BYOC_LEFT_OUT(WebAssembly)
BYOC_LEFT_OUT(XCore)
BYOC_LEFT_OUT(Xtensa)
void LLVMInitializeAArch64AsmParser() {}
void LLVMInitializeX86AsmParser() {}
}

llvm::PassPluginLibraryInfo getPollyPluginInfo() { return {}; }

// The members of this class that lld has declared (lld/ELF/LTO.h of LLVM 19). Its definition is the
// only reference to LLVM's LTO, whose passes are 1.4 MB of a wheel.
namespace lld::elf {

class BitcodeFile;
class InputFile;
class BitcodeCompiler {
 public:
  BitcodeCompiler();
  ~BitcodeCompiler();
  void add(BitcodeFile& file);
  std::vector<InputFile*> compile();
};

BitcodeCompiler::BitcodeCompiler() = default;
BitcodeCompiler::~BitcodeCompiler() = default;
void BitcodeCompiler::add(BitcodeFile&) {
  llvm::report_fatal_error("this linker takes no bitcode");
}
std::vector<InputFile*> BitcodeCompiler::compile() { return {}; }

}  // namespace lld::elf
