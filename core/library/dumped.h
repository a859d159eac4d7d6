// SPDX-License-Identifier: Apache-2.0
#pragma once
// The work of `byoc dump`.
#include <nlohmann/json_fwd.hpp>

#include "core/tools/model/model_options.h"
#include "core/tools/replay/replay_case.h"

namespace byoc::driver {

struct DumpOptions {
  std::string region;               ///< its symbol or number; "": all regions
  std::string output;               ///< the folder of the region, or of the regions' folders
  std::vector<std::string> inputs;  ///< as --input; the others are random
  uint64_t seed = 0;                ///< of the random inputs
};

/// The regions that were written, each with its folder.
struct DumpedModel {
  struct Region {
    std::string folder;
    ReplayCase replay;
  };
  std::string reference;  ///< the plugin that computed the outputs
  std::vector<Region> regions;
};

/// Compiles the model of `options`, computes the values between its regions by the reference, and
/// writes a folder per region. Errors: no such region; those of compiling and of writing.
Result<DumpedModel> dump_regions(const ModelOptions& options, const DumpOptions& with);
/// Returns the members of byoc.dump/1.
nlohmann::ordered_json json_of(const DumpedModel& dumped, const ModelOptions& options);

}  // namespace byoc::driver
