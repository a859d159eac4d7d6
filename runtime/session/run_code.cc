// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/run_code.h"

#include <algorithm>
#include <cstring>

#include "byoc/base/check.h"

namespace byoc {
namespace {

template <class T>
T load(const void* from) {
  T out;
  std::memcpy(&out, from, sizeof out);
  return out;
}

bool is_true(const void* condition) { return load<uint8_t>(condition) != 0; }

bool goes_on(const BoundInstruction& loop) {
  return load<int64_t>(loop.args[2]) < load<int64_t>(loop.args[0]) && is_true(loop.args[1]);
}

Status wrong_extent(const BoundInstruction& loop, int64_t ran, const char* what) {
  const int64_t extent = loop.extent;
  return Status(Code::kOutOfRange,
                cat("a loop ", what, " ", ran, ran == 1 ? " time" : " times",
                    "; its stacked results have ", loop.counts_rows ? "memory for " : "", extent,
                    extent == 1 ? " row" : " rows"))
      .with_slug("loop-extent")
      .with_help(loop.counts_rows
                     ? "compile the model with a larger --shape max_iterations=N"
                     : "stacked results need a loop whose number of iterations is known");
}

Status check_extent(const BoundInstruction& loop) {
  const int64_t ran = load<int64_t>(loop.args[2]);
  return loop.extent < 0 || loop.counts_rows || ran == loop.extent ? Status()
                                                                   : wrong_extent(loop, ran, "ran");
}

Status append(const BoundInstruction& row) {
  const int64_t at = load<int64_t>(row.args[2]);
  if (at < 0 || at >= row.extent) return wrong_extent(row, at + 1, "ran at least");
  if (row.counts_rows) row.dims_to[0] = at + 1;
  if (row.bytes == 0) return {};
  std::memcpy(static_cast<std::byte*>(row.args[1]) + static_cast<uint64_t>(at) * row.bytes,
              row.args[0], row.bytes);
  return {};
}

// Empties the tensors with counted rows that the loop at `k` appends to.
void clear_rows(std::span<const BoundInstruction> code, size_t k) {
  if (!code[k].counts_rows) return;
  for (size_t at = k + 1; at < code[k].target; ++at) {
    const BoundInstruction& row = code[at];
    if (!row.counts_rows || row.kind != Instruction::kAppend || row.args[2] != code[k].args[2])
      continue;
    std::copy_n(row.bounds, row.rank, row.dims_to);
    row.dims_to[0] = 0;
  }
}

void copy(const BoundInstruction& now) {
  if (now.dims_from != nullptr && now.dims_to != nullptr)
    std::copy_n(now.dims_from, now.rank, now.dims_to);
  if (now.bytes != 0) std::memcpy(now.args[1], now.args[0], now.bytes);
}

void set_counter(const BoundInstruction& loop, int64_t value) {
  std::memcpy(loop.args[2], &value, sizeof value);
}

}  // namespace

void find_targets(std::span<BoundInstruction> code) {
  std::vector<uint32_t> open;
  for (uint32_t k = 0; k < code.size(); ++k) {
    switch (code[k].kind) {
      case Instruction::kIf:
      case Instruction::kLoop:
        open.push_back(k);
        break;
      case Instruction::kElse:
        BYOC_CHECK(!open.empty(), "the else ", k, " is in no block");
        code[open.back()].target = k;
        open.back() = k;
        break;
      case Instruction::kAppend:
        BYOC_CHECK(!open.empty(), "the append ", k, " is in no loop");
        code[open.back()].extent = code[k].extent;
        code[open.back()].counts_rows = code[k].counts_rows;
        break;
      case Instruction::kEnd:
        BYOC_CHECK(!open.empty(), "the end ", k, " is of no block");
        code[k].target = open.back();
        code[open.back()].target = k;
        open.pop_back();
        break;
      case Instruction::kCall:
      case Instruction::kCopy:
        break;
    }
  }
  BYOC_CHECK(open.empty(), open.size(), " blocks without an end");
}

Status run_code(std::span<const BoundInstruction> code,
                const std::function<Status(size_t)>& run_step,
                const std::function<Status()>& check) {
  for (size_t k = 0; k < code.size(); ++k) {
    const BoundInstruction& now = code[k];
    switch (now.kind) {
      case Instruction::kCall:
        BYOC_TRY_STATUS(run_step(now.step));
        break;
      case Instruction::kCopy:
        copy(now);
        break;
      case Instruction::kAppend:
        BYOC_TRY_STATUS(append(now));
        break;
      case Instruction::kIf:
        if (!is_true(now.args[0])) k = now.target;
        break;
      case Instruction::kElse:
        k = now.target;
        break;
      case Instruction::kLoop:
        set_counter(now, 0);
        clear_rows(code, k);
        if (goes_on(now)) break;
        BYOC_TRY_STATUS(check_extent(now));
        k = now.target;
        break;
      case Instruction::kEnd: {
        BYOC_CHECK(now.target < k, "the end ", k, " leads on to ", now.target);
        const BoundInstruction& block = code[now.target];
        if (block.kind != Instruction::kLoop) break;
        BYOC_TRY_STATUS(check());
        set_counter(block, load<int64_t>(block.args[2]) + 1);
        if (goes_on(block)) k = now.target;
        else BYOC_TRY_STATUS(check_extent(block));
        break;
      }
    }
  }
  return {};
}

}  // namespace byoc
