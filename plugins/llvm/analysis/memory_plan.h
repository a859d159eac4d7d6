// SPDX-License-Identifier: Apache-2.0
#pragma once
// The memory of the tensors of a loop function: arguments, the stack, or the call's workspace.
// Tensors of the workspace whose live ranges do not overlap share memory. The offsets and bytes of
// tensors with open extents are expressions of the sizes of a run.
#include <unordered_map>
#include <vector>

#include "byoc/te/stmt.h"

namespace byoc::llvm_plugin {

/// The memory of one tensor.
struct Home {
  enum Kind { kArgument, kStack, kWorkspace, kSlot };
  Kind kind = kArgument;
  uint64_t number = 0;  // of an argument
  te::Tensor tensor;
  std::vector<int64_t> dims, strides;  // strides in elements; of open dims the upper bounds
  int64_t elements = 1;                // at these bounds
  te::Exprs steps = {};                // the strides of a run; of tiles those of the bounds
  bool is_open = false;                // a dim is given by each run
  bool has_open_steps = false;         // .. and it is not the first one
  bool is_spread = false;              // it has memory for the largest sizes
  te::Expr offset = 0;                 // bytes in the workspace or in the slot
  uint64_t bytes() const { return static_cast<uint64_t>(elements) * dtype_size(tensor.dtype()); }
};

/// The workspace of a parallel loop: MemoryPlan::slots blocks of `slot_bytes` from `offset` on. The
/// iterations are split into ranges, and each uses the block of its worker, or one of its own.
struct ParallelPlan {
  te::Expr offset = 0, slot_bytes = 0;
  bool has_slots() const { return te::as_int(slot_bytes) != 0; }
};

struct MemoryPlan {
  std::unordered_map<const void*, Home> homes;                     // by Tensor::id()
  std::unordered_map<const te::StmtNode*, ParallelPlan> parallel;  // outermost parallel loops
  te::Expr workspace_bytes = 0;
  uint64_t slots = 1;
};

/// Plans the memory of all tensors. Errors: kUnimplemented, which names a tensor with an extent
/// that is not a number.
Result<MemoryPlan> plan_memory(const te::LoopFunction& function, uint32_t threads);

/// Variables and tensors that `body` uses, in order of first use, including those it defines.
struct Names {
  std::vector<const void*> in_order;
  std::unordered_map<const void*, size_t> index;
  bool has(const void* id) const { return index.contains(id); }
};
Names names_in(const te::Stmt& body);

}  // namespace byoc::llvm_plugin
