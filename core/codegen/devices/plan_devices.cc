// SPDX-License-Identifier: Apache-2.0
#include "core/codegen/devices/plan_devices.h"

#include <algorithm>
#include <map>

#include "byoc/base/arena.h"
#include "byoc/base/check.h"

namespace byoc {
namespace {

constexpr uint64_t kDeviceAlign = 256;  // of tensors on devices, as docs/plugin-abi.md promises

uint64_t device_bytes(const TensorSpec& type) {
  const auto bytes = static_cast<uint64_t>(*size_bytes(type));  // with the bounds of open sizes
  return (bytes + kDeviceAlign - 1) / kDeviceAlign * kDeviceAlign;
}

template <class F>
void for_each_place(Program& program, F&& f) {
  for (uint32_t s = 0; s < program.steps.size(); ++s) {
    Step& step = program.steps[s];
    for (size_t k = 0; k < step.args.size(); ++k) {
      if (step.args[k].kind == Place::kDevice) f(s, step.args[k], step.types[k]);
    }
  }
}

/// The steps of a loop, with those of loops inside of it.
struct LoopSteps {
  uint32_t first, last;
  size_t outer;  // the loop around it, SIZE_MAX
};

/// The loops around each step.
class Loops {
 public:
  explicit Loops(const Program& program) : loop_of_(program.steps.size(), kNone) {
    std::vector<size_t> open;  // blocks: the loop, or kNone for an `if`
    size_t now = kNone;
    uint32_t step = 0;
    for (const Instruction& instruction : program.code) {
      if (instruction.kind == Instruction::kCall) {
        loop_of_[instruction.index] = now;
        step = instruction.index + 1;
      } else if (instruction.kind == Instruction::kLoop) {
        loops_.push_back({step, step, now});
        now = loops_.size() - 1;
        open.push_back(now);
      } else if (instruction.kind == Instruction::kIf) {
        open.push_back(kNone);
      } else if (instruction.kind == Instruction::kEnd) {
        if (open.back() != kNone) {
          loops_[now].last = std::max(step, loops_[now].first + 1) - 1;
          now = loops_[now].outer;
        }
        open.pop_back();
      }
    }
  }
  /// Returns the last step until which a value lives that `step` reads and `writer` has written.
  uint32_t last_use(uint32_t step, uint32_t writer) const {
    uint32_t out = step;
    for (size_t k = loop_of_[step]; k != kNone && loops_[k].first > writer; k = loops_[k].outer)
      out = loops_[k].last;
    return out;
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;
  std::vector<LoopSteps> loops_;
  std::vector<size_t> loop_of_;  // per step: the innermost
};

}  // namespace

void plan_devices(Program& program) {
  const Loops loops(program);
  std::vector<std::map<uint64_t, Lifetime>> lives(program.devices.size());  // by value
  for_each_place(program, [&](uint32_t step, const Place& place, const TensorSpec& type) {
    BYOC_CHECK(place.index < lives.size(), "device ", place.index, " of ", lives.size());
    Lifetime& life =
        lives[place.index].try_emplace(place.offset, Lifetime{0, step, step}).first->second;
    life.bytes = device_bytes(type);
    life.last = std::max(life.last, loops.last_use(step, life.first));
  });
  std::vector<std::map<uint64_t, uint64_t>> offsets(lives.size());
  for (size_t d = 0; d < lives.size(); ++d) {
    std::vector<Lifetime> list;
    for (const auto& [value, life] : lives[d]) list.push_back(life);
    const ArenaPlan plan = plan_arena(list);
    size_t k = 0;
    for (const auto& [value, life] : lives[d]) offsets[d][value] = plan.offsets[k++];
    program.devices[d].arena_bytes = plan.bytes;
  }
  for_each_place(program, [&](uint32_t, Place& place, const TensorSpec&) {
    place.offset = offsets[place.index].at(place.offset);
  });
}

}  // namespace byoc
