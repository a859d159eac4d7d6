// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compares several runs of a model with states with a reference.
#include "byoc/compile.h"
#include "core/tools/model/compare.h"

namespace byoc::driver {

/// The runs to compare.
struct StateSteps {
  const IRModule& model;      // with states
  const IRModule& stateless;  // the same, whose states are plain inputs and outputs
  const BuildOptions& build;
  std::string reference;           // a plugin's id
  std::span<const Tensor> inputs;  // of `stateless`, in the order of its parameters
  uint32_t steps = 3;
  double tolerance = -1;
};

/// Runs the model `steps` times in one context, whose states are zeros at first, each time with the
/// same inputs. The reference computes each run anew, with the states that the run before left.
/// Returns the outputs of all runs, and the states after them, as "y, run 2". Errors: those of
/// compiling and running.
Result<std::vector<ComparedValue>> compare_steps(const StateSteps& request);

}  // namespace byoc::driver
