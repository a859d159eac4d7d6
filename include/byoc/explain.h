// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which plugin runs each op of a model, and why the others do not.
#include "byoc/model.h"

namespace byoc {

/// The verdict of one plugin on an op.
struct OpVerdict {
  std::string plugin;
  std::string verdict;  ///< "taken", "refused", "slow", "covered", "not reached", ...
  std::string reason;   ///< a sentence without a final stop
};

/// An op of the model that runs.
struct OpExplanation {
  std::string op, name;             ///< "conv2d"; the node's name in the model
  std::string plugin, function;     ///< that runs it, and the compiled function that it is in
  double flops = 0;                 ///< of one run
  std::vector<OpVerdict> verdicts;  ///< in the order of the plugins
};

struct ModelExplanation {
  std::vector<OpExplanation> ops;     ///< in the order of the model; folded ones are left out
  std::vector<std::string> warnings;  ///< plans, rules and symbols that could not be used
  std::string uncompiled;             ///< the reason why the model does not compile; "": it does
  std::string json;                   ///< what `byoc explain --json` prints
};

/// Compiles the model and gathers the reasons. `node`: only ops of this name are in the result.
/// Costs a build; thread-safe. Errors: those of load_model, build_options and of the passes up to
/// partition_graph.
Result<ModelExplanation> explain_model(const ModelRequest& request, const std::string& node = "");

}  // namespace byoc
