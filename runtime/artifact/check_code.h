// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks of the instructions of a program: blocks, operands, and which outputs are written.
#include "byoc/runtime/artifact.h"

namespace byoc {

/// Checks that blocks nest, that every step is called once and in order, and that each instruction
/// has the operands of its kind. Places are not looked at. Errors: kInvalidArgument, slug
/// "executable", naming the instruction.
Status check_code(const Program& program);

/// Returns how many operands an instruction of that kind has.
size_t operands_of(Instruction::Kind kind);
/// Returns whether the instruction writes that operand when it runs. What kAppend writes is whole
/// after its loop.
bool writes_operand(Instruction::Kind kind, size_t operand);

/// Returns true for the same elements in another shape, as a step reads the operand of a reshape.
bool is_view_of(const TensorSpec& view, const TensorSpec& whole);

/// Keeps which outputs are written for certain, while instructions are visited in order.
class WrittenOutputs {
 public:
  explicit WrittenOutputs(size_t outputs) : written_(outputs) {}
  bool operator[](size_t output) const { return written_[output]; }
  void mark(uint32_t output);
  /// Declares an output that is written when the innermost loop ends.
  void mark_after_loop(uint32_t output) { blocks_.back().other.push_back(output); }
  void begin_block() { blocks_.emplace_back(); }
  void begin_else();
  void end_if();    ///< An output that both blocks write is written.
  void end_loop();  ///< A body may not run at all: what it alone writes is not written.

 private:
  struct Block {
    std::vector<uint32_t> fresh, other;  // written in this block; by the first block, or after it
  };
  std::vector<uint32_t> take_fresh();

  std::vector<bool> written_;
  std::vector<Block> blocks_;
};

}  // namespace byoc
