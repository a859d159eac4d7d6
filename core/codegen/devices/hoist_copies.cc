// SPDX-License-Identifier: Apache-2.0
#include "core/codegen/devices/hoist_copies.h"

#include <map>
#include <tuple>

#include "byoc/base/check.h"

namespace byoc {
namespace {

constexpr size_t kNone = SIZE_MAX;

/// The memory of the host that a loop writes: ends of ranges by their begins, which do not overlap.
class Written {
 public:
  void add(const Place& place, const TensorSpec& type) {
    if (place.kind == Place::kDevice) return;
    auto [begin, end] = range_of(place, type);
    std::map<uint64_t, uint64_t>& ranges = of_memory_[key_of(place)];
    auto at = ranges.upper_bound(begin);
    if (at != ranges.begin() && std::prev(at)->second >= begin) --at;
    while (at != ranges.end() && at->first <= end) {  // joins what it touches
      begin = std::min(begin, at->first);
      end = std::max(end, at->second);
      at = ranges.erase(at);
    }
    ranges.emplace(begin, end);
  }
  bool contains_some(const Place& place, const TensorSpec& type) const {
    const auto memory = of_memory_.find(key_of(place));
    if (memory == of_memory_.end()) return false;
    const auto [begin, end] = range_of(place, type);
    auto at = memory->second.lower_bound(end);
    return at != memory->second.begin() && std::prev(at)->second > begin;
  }

 private:
  using Key = std::pair<uint32_t, uint32_t>;
  static Key key_of(const Place& place) { return {place.kind, place.index}; }
  /// Returns the bytes of a place; all of an open one's memory.
  static std::pair<uint64_t, uint64_t> range_of(const Place& place, const TensorSpec& type) {
    if (type.is_open()) return {0, UINT64_MAX};
    const auto bytes = static_cast<uint64_t>(*size_bytes(type));
    return {place.offset, place.offset + std::max<uint64_t>(bytes, 1)};
  }
  std::map<Key, std::map<uint64_t, uint64_t>> of_memory_;
};

class Hoister {
 public:
  explicit Hoister(Program& program) : program_(program) {}

  void run() {
    find_loops();
    moved_to_.assign(program_.code.size(), kNone);
    for (size_t k = 0; k < program_.code.size(); ++k) {
      if (is_copy_in(k)) moved_to_[k] = target_of(k);
    }
    rewrite();
  }

 private:
  struct Loop {
    size_t begin, outer;  // outer: the loop around it, kNone
    Written written;
  };

  Step& step(size_t k) { return program_.steps[program_.code[k].index]; }
  bool is_copy_in(size_t k) {
    return program_.code[k].kind == Instruction::kCall && step(k).module == Step::kDeviceCopy &&
           step(k).args[1].kind == Place::kDevice;
  }

  void find_loops() {
    std::vector<bool> is_loop;  // of the open blocks
    size_t now = kNone;
    for (size_t k = 0; k < program_.code.size(); ++k) {
      const Instruction& instruction = program_.code[k];
      if (instruction.kind == Instruction::kLoop) {
        loops_.push_back({k, now, {}});
        now = loops_.size() - 1;
      }
      loop_of_.push_back(now);
      for (size_t loop = now; loop != kNone; loop = loops_[loop].outer)
        add_writes(k, loops_[loop].written);
      if (instruction.kind == Instruction::kLoop || instruction.kind == Instruction::kIf)
        is_loop.push_back(instruction.kind == Instruction::kLoop);
      if (instruction.kind != Instruction::kEnd) continue;
      if (is_loop.back()) now = loops_[now].outer;
      is_loop.pop_back();
    }
  }

  void add_writes(size_t k, Written& written) {
    const Instruction& instruction = program_.code[k];
    const bool writes_second =
        instruction.kind == Instruction::kCopy || instruction.kind == Instruction::kAppend;
    if (writes_second) written.add(instruction.args[1], instruction.types[1]);
    if (instruction.kind == Instruction::kLoop)
      written.add(instruction.args[2], instruction.types[2]);
    if (instruction.kind != Instruction::kCall) return;
    const Step& called = program_.steps[instruction.index];
    for (size_t a = called.n_in; a < called.args.size(); ++a)
      written.add(called.args[a], called.types[a]);
  }

  /// Returns the instruction of the outermost loop before which the copy may run, kNone: it stays.
  size_t target_of(size_t k) {
    size_t out = kNone;
    for (size_t loop = loop_of_[k]; loop != kNone; loop = loops_[loop].outer) {
      if (loops_[loop].written.contains_some(step(k).args[0], step(k).types[0])) break;
      out = loops_[loop].begin;
    }
    return out;
  }

  void rewrite() {
    std::map<size_t, std::vector<size_t>> before;  // copies by the loop that they run before
    for (size_t k = 0; k < moved_to_.size(); ++k) {
      if (moved_to_[k] != kNone) before[moved_to_[k]].push_back(k);
    }
    for (size_t k = 0; k < program_.code.size(); ++k) {
      if (const auto moved = before.find(k); moved != before.end()) {
        known_.clear();
        for (size_t copy : moved->second) add_once(copy);
      }
      if (moved_to_[k] == kNone) add(k);
    }
    for (Step& made : steps_) {
      for (Place& place : made.args) {
        if (place.kind != Place::kDevice) continue;
        if (const auto same = same_as_.find({place.index, place.offset}); same != same_as_.end())
          place.offset = same->second;
      }
    }
    program_.code = std::move(code_);
    program_.steps = std::move(steps_);
  }

  /// Adds a copy before a loop, unless one of the same value to the same device is there.
  void add_once(size_t k) {
    const Place &from = step(k).args[0], &to = step(k).args[1];
    const auto [known, is_new] =
        known_.try_emplace({from.kind, from.index, from.offset, to.index}, to.offset);
    if (is_new) add(k);
    else same_as_[{to.index, to.offset}] = known->second;
  }

  void add(size_t k) {
    Instruction& instruction = code_.emplace_back(program_.code[k]);
    if (instruction.kind != Instruction::kCall) return;
    steps_.push_back(program_.steps[instruction.index]);  // each is called once
    instruction.index = static_cast<uint32_t>(steps_.size() - 1);
  }

  Program& program_;
  std::vector<Loop> loops_;
  std::vector<size_t> loop_of_;   // per instruction: the innermost loop around it, kNone
  std::vector<size_t> moved_to_;  // per instruction: the loop before which it runs, kNone: stays
  std::map<std::tuple<uint32_t, uint32_t, uint64_t, uint32_t>, uint64_t> known_;
  std::map<std::pair<uint32_t, uint64_t>, uint64_t> same_as_;  // (device, value): another value
  std::vector<Instruction> code_;
  std::vector<Step> steps_;
};

}  // namespace

void hoist_copies(Program& program) {
  if (program.code.empty() || program.devices.empty()) return;
  Hoister(program).run();
}

}  // namespace byoc
