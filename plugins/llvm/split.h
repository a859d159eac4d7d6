// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions that are too large for one kernel, as calls of smaller functions. The time that LLVM
// needs grows faster than a kernel, and equal pieces are compiled once: a chain of 10,000 ops on
// f32[64] has a dozen different pieces.
//   before: fn main(%x) { %0 = tanh(%x)  %1 = exp(%0)  %2 = tanh(%1)  return %2 }
//   after:  pieces { tanh(%p0) }, { exp(%p0) }; calls 0(%x) -> a, 1(a) -> b, 0(b) -> output
#include "byoc/ir/module.h"
#include "byoc/te/target.h"

namespace byoc::llvm_plugin {

/// Calls of functions one after another.
struct Sequence {
  /// The bytes of a step of Call::args; values in the arena begin at multiples of it.
  static constexpr uint64_t kUnit = 64;
  struct Call {
    uint32_t piece;
    /// Per input, then per output of the piece: the number of an operand of the whole function
    /// (inputs, constants, outputs), or, below 0, ~place in the arena, in units.
    std::vector<int32_t> args;
  };
  std::vector<Call> calls;
  uint64_t arena_bytes = 0;
};

struct Split {
  std::vector<Function> pieces;  // all different
  Sequence sequence;
};

/// The functions to split: those too large for one kernel, or all of them, so that
/// they share pieces.
enum class SplitWhen { kTooLarge, kAlways };

/// Splits the entry of a module that read_graph_json made, constants as parameters. nullopt: it is
/// one kernel, it invokes other functions, or sizes are open. Linear, except for the arena's plan.
/// Errors: those of translate_to_te for one of the ops.
Result<std::optional<Split>> split_function(const IRModule& module, const te::Target& target,
                                            SplitWhen when = SplitWhen::kTooLarge);
/// Returns true when the entry has several ops, all on tensors that stay in the first cache. Such a
/// function is about as fast when it is split.
bool is_small_function(const IRModule& module);

}  // namespace byoc::llvm_plugin
