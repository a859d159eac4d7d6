// SPDX-License-Identifier: Apache-2.0
#pragma once
// Limits of a model's outputs, the one rule of `verify`, `bench`, `report` and `place`: the largest
// differences from the reference's outputs.
#include <span>

#include "byoc/compile.h"
#include "core/tools/model/compare.h"

namespace byoc::driver {

/// The plugin that computes right outputs, and the inputs of the run.
struct ReferenceRun {
  std::string plugin;
  std::span<const Tensor> inputs;
};

/// Returns a limit per output of `module`: `tolerance` of floats, and the steps of rounding that
/// two right results may be apart. Where rounded values are rounded again or are read by products,
/// the reference runs the model again with moved rounding; `right` are its outputs without, in the
/// order of the program. Errors: those of compiling and running by the reference.
Result<std::vector<Limit>> output_limits(const IRModule& module, const BuildOptions& build,
                                         const ReferenceRun& reference,
                                         std::span<const Tensor> right, double tolerance);

/// The outputs of the first run of a program, whose states are zeros, as the reference computes
/// them, in the order of the program without states, and their limits.
struct RightOutputs {
  std::vector<Tensor> values;
  std::vector<Limit> limits;
};
/// Runs `module` by the reference; its inputs are without states. Errors: as output_limits.
Result<RightOutputs> right_outputs(const IRModule& module, const BuildOptions& build,
                                   const ReferenceRun& reference);

}  // namespace byoc::driver
