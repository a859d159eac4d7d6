#pragma once
// Same inputs, two compilations or stored outputs: are the outputs equal, are all values between
// regions, and if not, which region is the first to be wrong on right inputs, and which of its ops.
#include <optional>

#include "byoc/compile.h"
#include "core/tools/model/compare.h"
#include "core/tools/replay/replay_case.h"
#include "core/tools/show/placement.h"

namespace byoc::driver {

struct VerifyRequest {
  BuildOptions build;
  std::string against;              // a plugin's id, or a test_data_set folder
  std::vector<std::string> inputs;  // as --input
  uint64_t seed = 0;
  double tolerance = -1;  // of the largest value; -1: by dtype
};

struct BadRegion {
  std::string function, plugin;
  size_t index = 0;  // among the regions, in order of execution
  ComparedValue output;
  size_t from_ops = 0, to_ops = 0, runs = 0;
  std::vector<PlacedOp> smallest;  // the ops that are wrong by themselves
  ReplayCase replay;               // the same as `byoc replay` runs it
};

struct Verification {
  std::string reference;  // the plugin that borders were compared with
  std::vector<ComparedValue> outputs;
  size_t regions = 0, borders = 0;  // regions, and how many values they give to others
  std::optional<BadRegion> bad;
  bool passed() const;
};

/// Of the plugins that may be default codegens the one that is asked last: the plainest.
/// Errors: slug "no-default-codegen".
Result<std::string> reference_plugin(const PluginSet& plugins);
bool is_data_set(const std::string& against);  // a folder
/// "x=1x3x224x224" for each input of an .onnx file that leaves extents open and that the data set
/// gives by name: what --shape would have to say.
Result<std::vector<std::string>> stored_shapes(const std::string& model, const std::string& folder);
Result<Verification> verify_model(IRModule module, const VerifyRequest& request);

}  // namespace byoc::driver
