// SPDX-License-Identifier: Apache-2.0
#pragma once
// A function as a plugin receives it, with inputs and right outputs, stored in a folder. It can be
// run again, by this byoc or another, without its model.
//   DIR/manifest.json   types of the files; the plugin that compiled the function, and its options
//   DIR/graph.json      the function as it crosses the plugin ABI (docs/graph-json.md)
//   DIR/inputs, DIR/constants, DIR/outputs     .npy files
#include "byoc/runtime/artifact.h"
#include "byoc/runtime/tensor.h"
#include "byoc/text/graph_json.h"
#include "core/tools/model/compare.h"

namespace byoc::driver {

struct ReplayTensor {
  std::string name;
  Tensor tensor;
};

struct ReplayCase {
  std::string producer, model, symbol;  // producer: "byoc 0.1.0"; model: the file of the function
  std::string plugin, plugin_version;   // that compiled it
  std::map<std::string, std::string> plugin_options;
  std::string point_json;  // of its knobs, as tune::print writes it; "": the plugin's own choice
  std::string reference, target_json = "{}";  // reference: the plugin that computed the outputs
  uint32_t threads = 1;
  std::string options_json = "{}";  // of the build: function_options_json
  double tolerance = -1;            // relative to the largest value; -1: by dtype
  std::vector<std::string> nodes;   // the names of its nodes in the model
  std::string graph_json;
  std::map<std::string, int64_t> sizes;  // the numbers that the tensors have for open sizes
  std::vector<ReplayTensor> inputs, outputs;
  std::vector<Limit> limits;                // of the outputs; empty: by dtype
  std::vector<ExternalConstant> constants;  // in the graph's order
  std::vector<std::shared_ptr<const Buffer>> buffers;
};

/// Fills graph, constants and nodes from a function of a module.
void set_function(ReplayCase& to, const IRModule& module, Symbol function);

/// Returns the allowed difference of an output: the stored limit, or one step for integers of 8 and
/// 16 bits of a graph that quantises values. A negative tolerance means the stored one.
Limit limit_of(const ReplayCase& replay, size_t output, double tolerance = -1);

/// Writes the folder, the manifest last, so that an incomplete folder is not a replay folder.
/// Errors: slug "replay-exists" when the path exists and is no such folder; those of writing.
Status write_replay(const ReplayCase& replay, const std::string& folder);
bool is_replay_folder(const std::string& folder);
/// Reads and checks a folder: all files exist, are complete and have the types of graph and
/// manifest; the constants are those of the graph, in its order. Errors: slug "replay-folder" with
/// the file, or a reader's.
Result<ReplayCase> read_replay(const std::string& folder);

}  // namespace byoc::driver
