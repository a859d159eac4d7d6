// SPDX-License-Identifier: Apache-2.0
#include "runtime/artifact/check_code.h"

#include <algorithm>

namespace byoc {
namespace {

Status bad_code(std::string message) { return invalid(std::move(message)).with_slug("executable"); }

const TensorSpec kBool{DType::kBool, {}}, kInteger{DType::kI64, {}};

class CodeChecker {
 public:
  explicit CodeChecker(const Program& program) : program_(program) {}

  Status run() {
    for (size_t k = 0; k < program_.code.size(); ++k) {
      BYOC_TRY_STATUS(check(program_.code[k]).at(cat("instruction ", k)));
    }
    if (!blocks_.empty()) return bad_code("a block of the code has no end");
    if (next_step_ == program_.steps.size()) return {};
    return bad_code(cat("the code calls ", next_step_, " of ", program_.steps.size(), " steps"));
  }

 private:
  struct Block {
    Instruction::Kind kind;               // kIf, kElse or kLoop
    Place counter;                        // of a loop
    const TensorSpec* stacked = nullptr;  // the first tensor that the loop appends to
  };

  Status check(const Instruction& instruction) {
    const size_t operands = operands_of(instruction.kind);
    if (instruction.args.size() != operands || instruction.types.size() != operands)
      return bad_code(cat(instruction.args.size(), " operands and ", instruction.types.size(),
                          " types, expected ", operands));
    switch (instruction.kind) {
      case Instruction::kCall:
        if (instruction.index == next_step_ && next_step_++ < program_.steps.size()) return {};
        return bad_code(cat("step ", instruction.index, " is called, out of order"));
      case Instruction::kCopy:
        return expect(instruction, 1, instruction.types[0]);
      case Instruction::kIf:
        blocks_.push_back({Instruction::kIf, {}});
        return expect(instruction, 0, kBool);
      case Instruction::kLoop:
        return begin_loop(instruction);
      case Instruction::kAppend:
        return check_append(instruction);
      case Instruction::kElse:
        if (blocks_.empty() || blocks_.back().kind != Instruction::kIf)
          return bad_code("an else without an if");
        blocks_.back().kind = Instruction::kElse;
        return {};
      case Instruction::kEnd:
        if (blocks_.empty() || blocks_.back().kind == Instruction::kIf)
          return bad_code(blocks_.empty() ? "an end without a block" : "an if without an else");
        blocks_.pop_back();
        return {};
    }
    return bad_code(cat("unknown kind of instruction ", static_cast<uint32_t>(instruction.kind)));
  }

  static Status expect(const Instruction& instruction, size_t operand, const TensorSpec& type) {
    if (instruction.types[operand] == type) return {};
    return bad_code(
        cat("operand ", operand, " is ", instruction.types[operand], ", expected ", type));
  }

  Status begin_loop(const Instruction& loop) {
    if (loop.args[2].kind != Place::kArena) return bad_code("the counter is outside of the arena");
    BYOC_TRY_STATUS(expect(loop, 0, kInteger));
    BYOC_TRY_STATUS(expect(loop, 1, kBool));
    blocks_.push_back({Instruction::kLoop, loop.args[2]});
    return expect(loop, 2, kInteger);
  }

  Status check_append(const Instruction& append) {
    if (blocks_.empty() || blocks_.back().kind != Instruction::kLoop ||
        blocks_.back().counter != append.args[2])
      return bad_code("rows are appended outside of the loop with that counter");
    TensorSpec row = append.types[1];
    if (row.dims.empty()) return bad_code("rows are appended to a tensor without dims");
    const TensorSpec*& stacked = blocks_.back().stacked;
    if (row.counted > 1) return bad_code(cat("rows with counted dims are appended to ", row));
    if (stacked != nullptr && (stacked->dims[0] != row.dims[0] || stacked->counted != row.counted))
      return bad_code(
          cat("tensors of one loop have ", stacked->dims[0], " and ", row.dims[0], " rows"));
    stacked = &append.types[1];
    row.dims.erase(row.dims.begin());
    row.counted = 0;
    BYOC_TRY_STATUS(expect(append, 0, row));
    return expect(append, 2, kInteger);
  }

  const Program& program_;
  size_t next_step_ = 0;
  std::vector<Block> blocks_;
};

}  // namespace

Status check_code(const Program& program) { return CodeChecker(program).run(); }

size_t operands_of(Instruction::Kind kind) {
  switch (kind) {
    case Instruction::kIf:
      return 1;
    case Instruction::kCopy:
      return 2;
    case Instruction::kLoop:
    case Instruction::kAppend:
      return 3;
    default:
      return 0;
  }
}

bool writes_operand(Instruction::Kind kind, size_t operand) {
  return (kind == Instruction::kCopy && operand == 1) ||
         (kind == Instruction::kLoop && operand == 2);
}

bool is_view_of(const TensorSpec& view, const TensorSpec& whole) {
  if (view.dtype != whole.dtype || view.counted != 0 || whole.counted != 0 || view.is_open() ||
      whole.is_open())
    return false;
  const Result<int64_t> a = size_bytes(view), b = size_bytes(whole);
  return a.ok() && b.ok() && *a == *b;
}

void WrittenOutputs::mark(uint32_t output) {
  if (written_[output]) return;
  written_[output] = true;
  if (!blocks_.empty()) blocks_.back().fresh.push_back(output);
}

// Returns what the innermost block has written, and takes it back.
std::vector<uint32_t> WrittenOutputs::take_fresh() {
  std::vector<uint32_t> fresh = std::move(blocks_.back().fresh);
  for (uint32_t output : fresh) written_[output] = false;
  blocks_.back().fresh.clear();
  std::sort(fresh.begin(), fresh.end());
  return fresh;
}

void WrittenOutputs::begin_else() { blocks_.back().other = take_fresh(); }

void WrittenOutputs::end_if() {
  const std::vector<uint32_t> second = take_fresh(), first = std::move(blocks_.back().other);
  blocks_.pop_back();
  for (uint32_t output : second) {
    if (std::binary_search(first.begin(), first.end(), output)) mark(output);
  }
}

void WrittenOutputs::end_loop() {
  take_fresh();
  const std::vector<uint32_t> appended = std::move(blocks_.back().other);
  blocks_.pop_back();
  for (uint32_t output : appended) mark(output);
}

}  // namespace byoc
