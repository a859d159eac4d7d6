// SPDX-License-Identifier: Apache-2.0
#pragma once
// Single steps of a compiled program, for measuring a region of an artifact by itself.
#include "byoc/runtime/artifact.h"

namespace byoc::driver {

/// Per step, per input: the program's input `index`, the result `index` of all steps' results in
/// their order, or a constant.
struct Source {
  enum Kind { kInput, kResult, kConstant } kind = kConstant;
  uint32_t index = 0;
};
/// Errors: slug "executable", when a step reads what no step before it wrote.
Result<std::vector<std::vector<Source>>> sources_of_steps(const Program& program);

/// The same program with all results of its steps as outputs, in their order, and no arena.
Result<Executable> with_all_results(Executable executable);
/// A program of that step alone: its inputs but for constants, its outputs.
Executable one_step(const Executable& executable, size_t index);

}  // namespace byoc::driver
