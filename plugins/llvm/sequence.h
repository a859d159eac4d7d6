// SPDX-License-Identifier: Apache-2.0
#pragma once
// Code that calls kernels one after another, with the program as data: a table of which kernel is
// called and where its operands are. The code is the same for a sequence of any length.
#include "plugins/llvm/native.h"
#include "plugins/llvm/split.h"

namespace byoc::llvm_plugin {

/// A sequence and the kernels of its pieces.
struct LinkedSequence {
  Sequence sequence;
  std::vector<std::shared_ptr<const Kernel>> pieces;
};
/// One object for all sequences, with the symbols of their pieces left open; equal sequences are
/// one function of it.
struct CompiledSequences {
  Kernel code;
  std::vector<Kernel> functions;  // per sequence: its symbol in `code`, and no object of its own
};
/// Compiles sequences. A call that fails ends its sequence with the same error. The workspace of a
/// sequence holds the operands of one call, the arena, and the workspace of the pieces.
Result<CompiledSequences> compile_sequences(std::span<const LinkedSequence> sequences,
                                            const Machine& machine);

}  // namespace byoc::llvm_plugin
