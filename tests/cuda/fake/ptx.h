// SPDX-License-Identifier: Apache-2.0
#pragma once
// PTX as a list of instructions, in the subset that LLVM writes for kernels of byoc.
// Source of the meanings: "Parallel Thread Execution ISA", version 8.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace fake_cuda {

/// A type of an instruction: the letter of PTX, and bits.
struct Type {
  char kind = 'b';  // b, u, s, f, p (predicate), t (tf32), g (bf16)
  int bits = 32;
  bool is_float() const { return kind == 'f'; }
  bool is_signed() const { return kind == 's'; }
  friend bool operator==(const Type&, const Type&) = default;
};

enum class Space : uint8_t { kGeneric, kParam, kGlobal, kShared, kLocal };

/// A register, a number, a special register, the address of a variable, or a list.
struct Operand {
  enum Kind : uint8_t { kNone, kRegister, kNumber, kThread, kGroup, kThreads, kGroups, kVariable };
  Kind kind = kNone;
  uint32_t reg = 0;       // of kRegister
  uint64_t number = 0;    // bits of kNumber; the offset of an address
  std::string name = {};  // of kVariable
  Space space = Space::kGeneric;
  std::vector<Operand> list = {};
};

struct Instruction;
class Thread;
using Execute = void (*)(Thread&, const Instruction&);

struct Instruction {
  enum Control : uint8_t { kNext, kBranch, kReturn, kBarrier, kWarp, kTrap };
  Control control = kNext;
  Execute execute = nullptr;
  int32_t predicate = -1;  // a register
  bool is_negated = false;
  Type type, from;     // `from`: of the operand of a conversion
  std::string word;    // a modifier that has a meaning: "lo", "rni", "lt"
  std::string opcode;  // as written, for messages
  Space space = Space::kGeneric;
  std::vector<Operand> operands;  // the destination first
  uint32_t target = 0;            // of a branch
  uint32_t line = 0;
};

struct Variable {
  Space space = Space::kGlobal;
  uint64_t bytes = 0, offset = 0;  // offset in shared or local memory, or in the parameters
  std::string contents = {};       // of a global one
};

struct Kernel {
  std::string name;
  std::vector<Instruction> code;
  std::map<std::string, Variable> variables;  // parameters, shared and local ones
  uint32_t registers = 0, most_threads = 1024;
  uint64_t shared_bytes = 0, local_bytes = 0, parameters = 0;
};

struct Module {
  int sm = 0, version = 0;  // 80 of sm_80; 70 of PTX 7.0
  std::map<std::string, std::unique_ptr<Kernel>> kernels;
  std::map<std::string, Variable> globals;
  std::map<std::string, uint64_t> addresses;  // of globals, once they are loaded
};

/// Reads a module. Throws std::runtime_error, which names the line, for anything that is unknown.
std::unique_ptr<Module> parse(const std::string& text);
/// Finds what an instruction does; throws for one that is unknown.
void resolve(Instruction& instruction, const std::vector<std::string>& words);

}  // namespace fake_cuda
