// SPDX-License-Identifier: Apache-2.0
#pragma once
// Measures how near a quantised model is to the float model that it was made of: errors of its
// outputs, and whether both choose the same class.
#include <nlohmann/json_fwd.hpp>

#include "byoc/compile.h"
#include "byoc/runtime/tensor.h"

namespace byoc::driver {

/// One output of the model against that of the float model, over all elements.
struct OutputAccuracy {
  std::string name;
  TensorSpec spec;
  double max_error = 0, mean_error = 0;  // of |got - expected|
  double largest = 0;                    // |expected|
  double noise_db = 0;   // 10 log10 of the sum of expected^2 by that of error^2; infinite: no error
  double cosine = 1;     // of the angle between both outputs as vectors
  int64_t rows = 0;      // along the last dim, of outputs with two dims or more; else 0
  int64_t same_top = 0;  // rows whose first greatest element is in the same place
};

/// Runs both modules once by `build` on the same inputs, `inputs` as --input, the others random.
/// The float module keeps its precision.
/// Errors: slug "vs-float" when inputs or outputs of the two differ in number, name or type;
/// those of build and of a run.
Result<std::vector<OutputAccuracy>> compare_with_float(IRModule module, IRModule float_module,
                                                       const BuildOptions& build,
                                                       const std::vector<std::string>& inputs,
                                                       uint64_t seed);
/// Returns the errors of one output; both tensors have one type.
OutputAccuracy accuracy_of(std::string name, const Tensor& got, const Tensor& expected);

/// Returns one line per measure.
std::string accuracy_text(const OutputAccuracy& accuracy);
nlohmann::ordered_json to_json(const OutputAccuracy& accuracy);

}  // namespace byoc::driver
