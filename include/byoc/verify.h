// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compares a compiled model with a reference: its outputs, and every value between regions.
#include "byoc/model.h"

namespace byoc {

struct VerifyOptions {
  std::string against;  ///< a plugin's id or an ONNX test_data_set folder; "": the reference plugin
  uint64_t seed = 0;    ///< of random inputs
  uint32_t steps = 3;   ///< runs of a model with states that are compared, at least 1
  double tolerance = -1;  ///< of floats, as a share of the largest value; -1: by dtype
  /// The command byoc, to run the smallest wrong piece in a new process; "": it is not run there.
  std::string program;
  std::string piece;  ///< the folder for that piece, for byoc replay; "": none is written
};

/// A tensor that was compared.
struct ComparedOutput {
  std::string name;
  bool is_equal = false;  ///< within the limits
  std::string text;       ///< "f32[1,10]: max error 1.2e-06 (3.1e-07 of max), ..."
};

struct ModelVerification {
  bool passed = false;
  std::vector<ComparedOutput> outputs;
  size_t regions = 0;              ///< compared
  std::string function, plugin;    ///< of the first region that is wrong; "": none is
  std::vector<std::string> nodes;  ///< of the smallest piece of it that is wrong by itself
  std::string json;                ///< what `byoc verify --json` prints
};

/// Runs the model and the reference. Takes several builds and runs. Errors: those of load_model,
/// build_options, compiling and running; a difference is a result, not an error.
Result<ModelVerification> verify_model(const ModelRequest& request, const VerifyOptions& options);

}  // namespace byoc
