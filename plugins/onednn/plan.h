// SPDX-License-Identifier: Apache-2.0
#pragma once
// A region as a sequence: primitives, the reorders between them, and the place of every buffer.
#include "constants.h"
#include "primitives/primitives.h"

namespace byoc::onednn {

/// Memory of one tensor in one format.
struct Buffer {
  enum Home { kInput, kOutput, kConstant, kArena };
  Home home = kArena;
  uint32_t index = 0;                     // the input, output or held constant
  uint64_t offset = 0, bytes = 0;         // in the arena
  uint32_t first = UINT32_MAX, last = 0;  // steps that touch it
  bool is_shared = false;                 // two values are in it, one a view of the other
  uint32_t whole = UINT32_MAX;            // the buffer it is inside of: `offset` counts from there
};

/// A primitive's argument: a buffer seen through a descriptor.
struct Bound {
  int index = 0;  // DNNL_ARG_...
  uint32_t buffer = 0;
  Desc desc;
  uint64_t offset = 0;  // bytes after the buffer's first
};

struct Step {
  dnnl::primitive primitive;
  std::vector<Bound> args;
  Desc scratchpad;
  bool is_reorder = false;
  std::string implementation, name;
  Loop loop;          // after the primitive, which may be none
  int64_t node = -1;  // a reorder has the node of the primitive that reads its result
};

struct Plan {
  std::vector<Buffer> buffers;
  std::vector<Step> steps;
  std::vector<ConstantStore::Shared> held;  // constants, as they are or in oneDNN's layouts
  uint64_t arena_bytes = 0, scratchpad_bytes = 0, packed_bytes = 0;
  uint64_t workspace_bytes() const { return arena_bytes + scratchpad_bytes; }
};

/// Makes the plan of a region. Reorders are only between primitives of different layouts, and for
/// the region's inputs and outputs; constants are reordered here, once for all sessions; a residual
/// is summed in place when no later step reads it. Throws Refusal.
Plan make_plan(const Graph& graph, ConstantStore& constants, const dnnl::engine& engine,
               const ChainRules& rules, const Choices& choices);

}  // namespace byoc::onednn
