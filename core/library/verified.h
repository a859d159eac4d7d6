// SPDX-License-Identifier: Apache-2.0
#pragma once
// The work of `byoc verify`.
#include <nlohmann/json_fwd.hpp>

#include "core/tools/model/model_options.h"
#include "core/tools/sizes/open_sizes.h"
#include "core/tools/verify/verification.h"

namespace byoc::driver {

struct VerifiedModel {
  Verification verification;
  std::string against;  // as given, or the reference plugin
  AssumedSizes sizes;
  Report report;       // of compiling
  std::string folder;  // of the smallest wrong piece; empty: none was written
  std::string why_not_written;
  std::shared_ptr<const PluginSet> plugins;
};

/// Loads the model. Extents that the user leaves open are those of stored inputs, or of --input.
Result<IRModule> load_to_verify(ModelOptions options, const VerifyRequest& request,
                                AssumedSizes& sizes);

/// Calls while a model is verified; all may be empty.
struct VerifyHooks {
  std::function<void(const AssumedSizes&)> sizes_known;  // before anything is computed
  /// Returns the folder for the smallest wrong piece; "": none is written.
  std::function<std::string(const BadRegion&)> folder;
  /// Compares the outputs and regions; empty: driver::verify_model.
  std::function<Result<Verification>(IRModule, const VerifyRequest&)> compare;
};
/// Loads, compiles and compares the model of `options`. The request's build and, where it is empty,
/// `against` are filled in.
Result<VerifiedModel> verify_file(const ModelOptions& options, VerifyRequest request,
                                  const VerifyHooks& hooks);

/// Returns the members of byoc.verify/1 that only the comparison gives.
nlohmann::ordered_json json_of(const Verification& verification, const std::string& against);
/// Returns all members.
nlohmann::ordered_json json_of(const VerifiedModel& verified, const ModelOptions& options);

}  // namespace byoc::driver
