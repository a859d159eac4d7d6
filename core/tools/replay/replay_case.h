#pragma once
// One function as a plugin is given it, with inputs and the outputs that are right: a folder that
// can be run again, by this byoc or another, without the model it came from.
//   DIR/manifest.json   what the files are, who compiled the function and with which options
//   DIR/graph.json      the function as it crosses the plugin ABI (byoc/ir/graph_json.h)
//   DIR/inputs, DIR/constants, DIR/outputs     .npy files
#include "byoc/runtime/artifact.h"
#include "byoc/runtime/tensor.h"
#include "byoc/text/graph_json.h"

namespace byoc::driver {

struct ReplayTensor {
  std::string name;
  Tensor tensor;
};

struct ReplayCase {
  std::string producer, model, symbol;  // producer: "byoc 0.1.0"; model: where the function is from
  std::string plugin, plugin_version;   // who it was compiled by
  std::map<std::string, std::string> plugin_options;
  std::string reference, target_json = "{}";  // reference: the plugin that computed the outputs
  uint32_t threads = 1;
  double tolerance = -1;           // of the largest value; -1: by dtype
  std::vector<std::string> nodes;  // the user's names of what is inside
  std::string graph_json;
  std::vector<ReplayTensor> inputs, outputs;
  std::vector<ExternalConstant> constants;  // in the graph's order
  std::vector<std::shared_ptr<const Buffer>> buffers;
};

/// Fills graph, constants and nodes from a function of a module.
void set_function(ReplayCase& to, const IRModule& module, Symbol function);

/// Makes the folder; the manifest comes last, so that half a folder is none. Errors: what exists
/// and is not such a folder is left alone (slug "replay-exists"); those of writing.
Status write_replay(const ReplayCase& replay, const std::string& folder);
bool is_replay_folder(const std::string& folder);
/// Checks all of it: the files are there, whole, of the types that graph and manifest say, and the
/// constants are those the graph names. Errors: slug "replay-folder" with the file, or a reader's.
Result<ReplayCase> read_replay(const std::string& folder);

}  // namespace byoc::driver
