// SPDX-License-Identifier: Apache-2.0
#pragma once
// Makes programs of single steps of a compiled program, to measure a region of an artifact alone.
#include "byoc/runtime/artifact.h"

namespace byoc::driver {

/// Returns the program up to the step `index`, with that step's inputs except constants as outputs.
/// Errors: slug "control-flow" for programs whose steps are not run in order.
Result<Executable> inputs_of_step(Executable executable, size_t index);
/// Returns a program of the step `index` alone. The step's inputs except constants are its inputs.
/// A step of a device has copies around it. `index`: of no copy.
Executable one_step(const Executable& executable, size_t index);

/// Returns whether the step's weights come from memory in a model, as the tuner decides it.
bool is_bound_by_weights(const Executable& executable, const Step& step);

}  // namespace byoc::driver
