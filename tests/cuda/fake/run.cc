// SPDX-License-Identifier: Apache-2.0
// Runs the threads of a group one after another, each up to the next barrier, in an order that
// differs from barrier to barrier: a barrier that is missing gives wrong numbers.
#include <algorithm>
#include <numeric>

#include "fake/thread.h"

namespace fake_cuda {
namespace {

constexpr uint32_t kWarp = 32;
constexpr uint64_t kMostSteps = 20'000'000'000;  // of a launch

bool is_on(const Thread& thread, const Instruction& code) {
  if (code.predicate < 0) return true;
  const bool value = (thread.registers[static_cast<size_t>(code.predicate)] & 1) != 0;
  return value != code.is_negated;
}

// Runs up to a barrier, an instruction of the warp, or the end.
void run(Thread& thread, uint64_t& steps) {
  const std::vector<Instruction>& code = thread.group->kernel->code;
  for (thread.state = Thread::kRuns; thread.state == Thread::kRuns;) {
    if (thread.at >= code.size()) {
      thread.state = Thread::kEnded;
      return;
    }
    if (++steps > kMostSteps) throw std::runtime_error("a kernel takes too many steps");
    const Instruction& next = code[thread.at++];
    if (!is_on(thread, next)) continue;
    switch (next.control) {
      case Instruction::kNext:
        next.execute(thread, next);
        break;
      case Instruction::kBranch:
        thread.at = next.target;
        break;
      case Instruction::kReturn:
        thread.state = Thread::kEnded;
        break;
      case Instruction::kBarrier:
        thread.state = Thread::kAtBarrier;
        break;
      case Instruction::kWarp:
        thread.state = Thread::kAtWarp;
        break;
      case Instruction::kTrap:
        throw std::runtime_error("a kernel trapped");
    }
  }
}

void run_warp(std::vector<Thread>& threads, uint32_t first, uint32_t turn, uint64_t& steps) {
  const uint32_t count = std::min<uint32_t>(kWarp, static_cast<uint32_t>(threads.size()) - first);
  for (;;) {
    for (uint32_t k = 0; k < count; ++k) {
      Thread& next = threads[first + (turn % 2 == 0 ? k : count - 1 - k)];
      if (next.state == Thread::kRuns || next.state == Thread::kAtWarp) run(next, steps);
    }
    uint32_t waiting = 0;
    for (uint32_t k = 0; k < count; ++k) waiting += threads[first + k].state == Thread::kAtWarp;
    if (waiting == 0) return;
    if (waiting != kWarp)
      throw std::runtime_error("threads of a warp are at different instructions");
    for (uint32_t k = 1; k < count; ++k)
      if (threads[first + k].at != threads[first].at)
        throw std::runtime_error("threads of a warp are at different instructions");
    execute_warp(&threads[first], threads[first].group->kernel->code[threads[first].at - 1]);
  }
}

void run_group(Group& group, uint64_t& steps) {
  std::vector<Thread> threads;
  for (uint32_t k = 0; k < group.threads; ++k) threads.emplace_back(group, k);
  const uint32_t warps = (group.threads + kWarp - 1) / kWarp;
  for (uint32_t turn = 0;; ++turn) {
    for (uint32_t w = 0; w < warps; ++w)
      run_warp(threads, (turn % 3 == 0 ? w : warps - 1 - w) * kWarp, turn, steps);
    size_t ended = 0;
    for (Thread& thread : threads) {
      ended += thread.state == Thread::kEnded;
      if (thread.state == Thread::kAtBarrier) thread.state = Thread::kRuns;
    }
    if (ended == threads.size()) return;
    if (ended != 0)
      throw std::runtime_error("some threads wait at a barrier, and others have ended");
  }
}

}  // namespace

uint64_t Thread::address_of(const std::string& variable) const {
  const auto own = group->kernel->variables.find(variable);
  if (own != group->kernel->variables.end()) return own->second.offset;
  const auto global = group->module->addresses.find(variable);
  if (global == group->module->addresses.end()) throw std::runtime_error("no variable " + variable);
  return global->second;
}

unsigned char* Thread::bytes_at(Space space, uint64_t address, uint64_t size) {
  if (space == Space::kGeneric && address >= kSharedWindow && address < 3 * kSharedWindow) {
    space = address >= kLocalWindow ? Space::kLocal : Space::kShared;
    address -= space == Space::kLocal ? kLocalWindow : kSharedWindow;
  }
  unsigned char* out = nullptr;
  if (address % size != 0) throw std::out_of_range("a misaligned address");
  if (space == Space::kShared) {
    if (address + size <= group->shared.size()) out = group->shared.data() + address;
  } else if (space == Space::kLocal) {
    if (address + size <= local.size()) out = local.data() + address;
  } else if (space == Space::kParam) {
    if (address + size <= 8 * group->parameters.size())
      out = reinterpret_cast<unsigned char*>(group->parameters.data()) + address;
  } else {
    out = group->memory->find(address, size);
  }
  if (out == nullptr) throw std::out_of_range("an address outside of all allocations");
  return out;
}

void run_grid(const Module& module, const Kernel& kernel, Memory& memory, uint32_t groups,
              uint32_t threads, const std::vector<uint64_t>& parameters) {
  uint64_t steps = 0;
  for (uint32_t g = 0; g < groups; ++g) {
    Group group{&kernel, &module, &memory, parameters, {}, g, groups, threads};
    group.shared.assign(kernel.shared_bytes, 0xff);
    run_group(group, steps);
  }
}

}  // namespace fake_cuda
