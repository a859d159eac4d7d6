// SPDX-License-Identifier: Apache-2.0
#pragma once
// The state of a thread of a kernel, and memory as it is seen from there.
#include <cstring>
#include <stdexcept>

#include "fake/memory.h"
#include "fake/ptx.h"

namespace fake_cuda {

/// Where generic addresses of shared and local memory begin.
inline constexpr uint64_t kSharedWindow = uint64_t{1} << 40, kLocalWindow = uint64_t{1} << 41;

/// The state that the threads of a group share.
struct Group {
  const Kernel* kernel;
  const Module* module;
  Memory* memory;
  std::vector<uint64_t> parameters;
  std::vector<unsigned char> shared;
  uint32_t number = 0, groups = 1, threads = 1;
};

class Thread {
 public:
  enum State : uint8_t { kRuns, kAtBarrier, kAtWarp, kEnded };
  Thread(Group& group, uint32_t number)
      : group(&group),
        number(number),
        registers(group.kernel->registers, 0xffffffffffffffff),
        local(group.kernel->local_bytes, 0xff) {}

  /// Returns the bits of an operand.
  uint64_t value(const Operand& x) const {
    switch (x.kind) {
      case Operand::kRegister:
        return registers[x.reg];
      case Operand::kNumber:
        return x.number;
      case Operand::kThread:
        return number;
      case Operand::kGroup:
        return group->number;
      case Operand::kThreads:
        return group->threads;
      case Operand::kGroups:
        return group->groups;
      case Operand::kVariable:
        return address_of(x.name);
      case Operand::kNone:
        break;
    }
    throw std::runtime_error("an operand has no value");
  }
  void set(const Operand& to, uint64_t bits) { registers[to.reg] = bits; }
  uint64_t address_of(const std::string& variable) const;
  /// Returns the address of an operand in brackets.
  uint64_t address(const Operand& x) const {
    return x.kind == Operand::kRegister ? registers[x.reg] + x.number : value(x) + x.number;
  }
  /// Returns the bytes at an address. Throws std::out_of_range for what no allocation has.
  unsigned char* bytes_at(Space space, uint64_t address, uint64_t size);

  Group* group;
  uint32_t number;
  uint32_t at = 0;  // the next instruction
  State state = kRuns;
  std::vector<uint64_t> registers;
  std::vector<unsigned char> local;
};

/// Runs a grid of groups of threads. Throws std::out_of_range for an access outside of all
/// allocations, and std::runtime_error for code that has no meaning.
void run_grid(const Module& module, const Kernel& kernel, Memory& memory, uint32_t groups,
              uint32_t threads, const std::vector<uint64_t>& parameters);
/// Executes an instruction of a warp: 32 threads at one instruction.
void execute_warp(Thread* threads, const Instruction& instruction);

}  // namespace fake_cuda
