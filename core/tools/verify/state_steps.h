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

/// The runs of a model with states.
struct ComparedSteps {
  std::vector<ComparedValue> values;  // outputs of all runs, and the states after them: "y, run 2"
  std::vector<uint32_t> began_again;  // the runs, from 2 on, whose states were zeros again
};

/// Runs the model `steps` times in one context, whose states are zeros at first, each time with the
/// same inputs. The reference computes each run anew, with the states that the run before left.
/// States that are used up, as a counter beyond the rows of a table, begin at zeros again. Errors:
/// those of compiling and running, also of a run that the reference computes.
Result<ComparedSteps> compare_steps(const StateSteps& request);

}  // namespace byoc::driver
