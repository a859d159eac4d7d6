// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compares the outputs of two compilations, or of one with stored outputs, then all values between
// regions. Reports the first region that is wrong on right inputs, and which of its ops are.
#include <functional>
#include <optional>
#include <set>

#include "byoc/compile.h"
#include "core/tools/model/compare.h"
#include "core/tools/model/region_probe.h"
#include "core/tools/replay/replay_case.h"
#include "core/tools/show/placement.h"
#include "core/tools/verify/reduce_region.h"

namespace byoc::driver {

struct Verification;

struct VerifyRequest {
  BuildOptions build;
  std::string against;      // a plugin's id, or a test_data_set folder
  bool is_default = false;  // `against` is reference_plugin(), also where a folder has its name
  std::vector<std::string> inputs;  // as --input
  uint64_t seed = 0;
  uint32_t steps = 3;     // runs of a model that hand its states on
  double tolerance = -1;  // relative to the largest value; -1: by dtype
  std::string program;    // the byoc command that runs the smallest piece again; empty: none
  std::function<void(std::string_view)> doing;  // called before work that takes time; may be empty
  /// Called when the outputs are compared, before the regions are; may be empty.
  std::function<void(const Verification&)> outputs_compared;
  bool has_data_set() const;  // `against` is a folder
};

struct BadRegion {
  std::string function, plugin;
  size_t index = 0;  // among the regions, in order of execution
  ComparedValue output;
  bool in_piece = false;  // `output` is of a piece; the whole region is within its limits
  size_t from_ops = 0, to_ops = 0, runs = 0;
  std::vector<PlacedOp> smallest;  // the ops of the reduced region
  Confirmation confirmation = Confirmation::kNotAsked;
  std::string why_no_verdict;
  std::string library_op;  // whose `compute` the region's loops are; "": other regions
  ReplayCase replay;       // the reduced region, for `byoc replay`
};

struct Verification {
  std::string reference;               // the plugin that computed the right values between regions
  std::set<std::string> plugins;       // those that compiled a region
  std::vector<ComparedValue> outputs;  // of a program with open sizes "y, N=4", for each of `sizes`
  uint32_t state_runs = 0;             // that handed states on; 0: the model has none
  std::vector<uint32_t> began_again;   // ComparedSteps::began_again
  std::vector<std::string> sizes;      // "N=1, T=128"; empty: none is open
  std::vector<std::string> limited;    // CheckedSizes::limited
  std::string regions_at;              // one of `sizes`, at which the regions are compared
  size_t regions = 0, borders = 0;     // borders: results of all regions
  // A model that rounds: each region got the inputs that the reference computed. Else the program
  // ran as a whole, and its values are compared.
  bool on_equal_inputs = false;
  size_t rounded_once = 0;   // results that may be one step apart
  size_t several = 0;        // regions that round several times
  double most_steps = 0;     // the largest limit of their results
  size_t pieces = 0;         // of these regions, compared by themselves
  size_t wrong_regions = 0;  // regions that are wrong as a whole
  std::optional<BadRegion> bad;
  /// The outputs that the reference computes from the program's own regions, compared with the
  /// right ones. They differ when passes or stored outputs are wrong, and no plugin.
  std::vector<ComparedValue> of_reference;
  bool passed() const;
};

/// Returns that plugin; where it is not loaded, the last of the default codegens in order of
/// priority. Another default codegen of low priority may be the one to be verified.
/// Errors: slug "no-default-codegen".
Result<std::string> reference_plugin(const PluginSet& plugins);
/// Returns true when `against` is a folder.
bool is_data_set(const std::string& against);
/// Returns the --shape arguments, such as "x=1x3x224x224", for the inputs of an .onnx file that
/// have open extents and whose names are in the data set.
Result<std::vector<std::string>> stored_shapes(const std::string& model, const std::string& folder);
Result<Verification> verify_model(IRModule module, const VerifyRequest& request);

}  // namespace byoc::driver
