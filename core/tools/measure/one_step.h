// SPDX-License-Identifier: Apache-2.0
#pragma once
// Makes programs of single steps of a compiled program, to measure a region of an artifact alone.
#include "byoc/runtime/artifact.h"

namespace byoc::driver {

/// The source of a step's input: the program's input `index`, the result `index` among the results
/// of all steps in their order, or the constant `index`.
struct Source {
  enum Kind { kInput, kResult, kConstant } kind = kConstant;
  uint32_t index = 0;
};
/// Returns the sources per step and input. Errors: slug "executable", when a step reads memory that
/// no earlier step has written; slug "control-flow" for programs whose steps are not run in order.
Result<std::vector<std::vector<Source>>> sources_of_steps(const Program& program);

/// Returns the program with all results of its steps as outputs, in their order, and no arena.
Result<Executable> with_all_results(Executable executable);
/// Returns a program of the step `index` alone. The step's inputs except constants are its inputs.
Executable one_step(const Executable& executable, size_t index);

}  // namespace byoc::driver
