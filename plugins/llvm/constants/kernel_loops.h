// SPDX-License-Identifier: Apache-2.0
#pragma once
// A Dag as loops: those of its run, and those that make its packed constants at compile.
#include "byoc/te/stmt.h"
#include "plugins/llvm/topi/space.h"

namespace byoc::llvm_plugin {

/// Loops that run at compile, on the machine that compiles.
struct ConstantLoops {
  te::LoopFunction loops;
  std::vector<size_t> reads;  // per input of `loops`: the number of the constant
  std::vector<bool> is_kept;  // per constant: the kernel still reads it
};
/// The inputs of `loops` are those of the function, the constants that are kept, and the outputs of
/// `constants`.
struct KernelLoops {
  te::LoopFunction loops;
  std::optional<ConstantLoops> constants;
};
/// Lowers a Dag whose inputs after the first `inputs` are constants, at a point of its template; no
/// point: at the first. Errors: those of primitives.
Result<KernelLoops> lower_with_constants(const te::Dag& dag, size_t inputs,
                                         const te::Target& target,
                                         const topi::Point* point = nullptr);
/// Lowers a Dag without constants that are made at compile: each run computes all of its stages.
Result<te::LoopFunction> lower_whole(const te::Dag& dag, const te::Target& target);
/// Lowers a Dag with open sizes, by the schedule of the same Dag with numbers, at a point of
/// its template; no point: by its first guess that fits. Errors: of primitives; slug
/// "open-schedule" for a point whose schedule needs numbers.
Result<KernelLoops> lower_open(const te::Dag& dag, const te::Dag& nominal, size_t inputs,
                               const te::Target& target, const topi::Point* point = nullptr);
/// The same without constants that are made at compile.
Result<te::LoopFunction> lower_open_whole(const te::Dag& dag, const te::Dag& nominal,
                                          const te::Target& target);

}  // namespace byoc::llvm_plugin
