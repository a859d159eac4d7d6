#pragma once
// Where the tensors of a loop function live: arguments, the stack, or the call's workspace, in
// which tensors that are never alive together share memory.
#include <unordered_map>
#include <vector>

#include "byoc/te/stmt.h"

namespace byoc::llvm_plugin {

struct Home {
  enum Kind { kArgument, kStack, kWorkspace, kSlot };
  Kind kind = kArgument;
  uint64_t offset = 0;  // of an argument: its number; else bytes, in the workspace or in the slot
  te::Tensor tensor;
  std::vector<int64_t> dims, strides;  // strides in elements
  int64_t elements = 1;
  uint64_t bytes() const { return static_cast<uint64_t>(elements) * dtype_size(tensor.dtype()); }
};

/// A parallel loop that needs memory of its own: `slots` pieces of `slot_bytes`, and the iterations
/// in as many parts.
struct ParallelPlan {
  uint64_t offset = 0, slot_bytes = 0;
};

struct MemoryPlan {
  std::unordered_map<const void*, Home> homes;                     // by Tensor::id()
  std::unordered_map<const te::StmtNode*, ParallelPlan> parallel;  // outermost parallel loops
  uint64_t workspace_bytes = 0;
  uint64_t slots = 1;
};

/// Errors: kUnimplemented naming a tensor whose extents are no numbers, or too large a stack.
Result<MemoryPlan> plan_memory(const te::LoopFunction& function, uint32_t threads);

/// Variables and tensors that `body` names, in order of first use, its own ones included.
struct Names {
  std::vector<const void*> in_order;
  std::unordered_map<const void*, size_t> index;
  bool has(const void* id) const { return index.contains(id); }
};
Names names_in(const te::Stmt& body);

}  // namespace byoc::llvm_plugin
