// SPDX-License-Identifier: Apache-2.0
#include "runtime/arena/block_lives.h"

#include <algorithm>

#include "byoc/base/check.h"

namespace byoc {
namespace {

class LifeFinder {
 public:
  explicit LifeFinder(const Program& program)
      : program_(program), lives_(program.blocks(), {0, UINT32_MAX, 0}) {}

  std::vector<Lifetime> run() {
    if (program_.code.empty()) {
      for (const Step& step : program_.steps) {
        touch_all(step.args);
        ++now_;
      }
    }
    for (const Instruction& instruction : program_.code) {
      visit(instruction);
      ++now_;
    }
    for (const Copy& copy : program_.copies) touch(copy.from, now_);
    for (Lifetime& life : lives_) life.first = std::min(life.first, life.last);  // never used
    return std::move(lives_);
  }

 private:
  struct Block {  // an `if` or a loop that has begun
    uint32_t begin;
    bool is_loop;
    std::vector<uint32_t> touched;  // blocks of memory, inside
  };

  void visit(const Instruction& instruction) {
    const bool is_loop = instruction.kind == Instruction::kLoop;
    if (is_loop || instruction.kind == Instruction::kIf) open_.push_back({now_, is_loop, {}});
    touch_all(instruction.args);
    if (instruction.kind == Instruction::kCall) touch_all(program_.steps[instruction.index].args);
    if (instruction.kind == Instruction::kAppend) touch(instruction.args[1], begin_of_loop());
    if (instruction.kind == Instruction::kEnd) end_block();
  }

  uint32_t begin_of_loop() const {
    for (size_t k = open_.size(); k-- > 0;) {
      if (open_[k].is_loop) return open_[k].begin;
    }
    return now_;
  }

  // A value that a loop uses and that is older than the loop is there in each iteration.
  void end_block() {
    BYOC_CHECK(!open_.empty(), "the end of no block");
    const Block ended = std::move(open_.back());
    open_.pop_back();
    for (uint32_t block : ended.touched) {
      Lifetime& life = lives_[block];
      if (ended.is_loop && life.first <= ended.begin) life.last = now_;
      if (!open_.empty()) open_.back().touched.push_back(block);
    }
  }

  void touch_all(const std::vector<Place>& places) {
    for (const Place& place : places) touch(place, now_);
  }
  void touch(const Place& place, uint32_t from) {
    if (place.kind != Place::kArena) return;
    Lifetime& life = lives_[place.index];
    life.first = std::min(life.first, from);
    life.last = std::max(life.last, now_);
    if (!open_.empty()) open_.back().touched.push_back(place.index);
  }

  const Program& program_;
  std::vector<Lifetime> lives_;
  std::vector<Block> open_;
  uint32_t now_ = 0;
};

}  // namespace

std::vector<Lifetime> block_lives(const Program& program) { return LifeFinder(program).run(); }

}  // namespace byoc
