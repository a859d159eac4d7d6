// SPDX-License-Identifier: Apache-2.0
#pragma once
// Computes the inputs and the right results of the regions of a partitioned model. A reference
// plugin computes them.
#include <map>

#include "core/tools/model/region_probe.h"

namespace byoc::driver {

class RegionValues {
 public:
  /// Partitions and fuses `module` with `build`, then runs it on `inputs` with every region
  /// assigned to the plugin `reference`. The functions do not change by that.
  static Result<RegionValues> compute(IRModule module, const BuildOptions& build,
                                      const std::string& reference, std::vector<Tensor> inputs);

  const IRModule& fused() const { return fused_; }
  const ProbedModule& probed() const { return probed_; }
  const PassContext& ours() const { return ours_; }            // compiles the regions
  const PassContext& reference() const { return reference_; }  // compiles them for the reference
  const std::string& reference_plugin() const { return reference_plugin_; }
  /// Returns true when the model quantises values (core/tools/rounding/value_steps.h).
  bool rounds() const { return rounds_; }
  /// Returns the numbers that the inputs have for the open sizes of the model, by name.
  std::map<std::string, int64_t> sizes() const;
  /// Returns all results of all regions, in the order of the probed module's outputs, then those of
  /// the model.
  const std::vector<Tensor>& right() const { return right_; }
  /// Copies the right values of the region's parameters and of its results.
  Result<std::vector<Tensor>> inputs_of(const RegionCall& region) const;
  Result<std::vector<Tensor>> outputs_of(const RegionCall& region) const;
  /// Copies the inputs of the model and the right values of the parameters that were added.
  Result<std::vector<Tensor>> inputs_of(const CutModule& cut) const;
  /// Finds a region by its symbol, or by its number in order of execution. Errors: slug
  /// "unknown-region", with the nearest name.
  Result<const RegionCall*> find(const std::string& region) const;

 private:
  IRModule fused_;
  ProbedModule probed_;
  PassContext ours_, reference_;
  std::string reference_plugin_;
  bool rounds_ = false;
  std::vector<Tensor> inputs_, right_;
};

/// Returns the regions in order of execution and runs nothing.
Result<std::vector<RegionCall>> regions_of(IRModule module, const BuildOptions& build);
/// Returns `build` with `plugin` as its only compiler; default codegens still take what it refuses.
BuildOptions all_by(const std::string& plugin, BuildOptions build);
/// Returns the inputs of the entry function. Errors: slug "symbolic-shape".
Result<std::vector<NamedTensor>> entry_inputs(const IRModule& module);
/// Likewise without states, as a run gets them. Errors: also those of states_of.
Result<std::vector<NamedTensor>> given_inputs(const IRModule& module);
/// Returns the inputs that are states. Errors: as given_inputs.
Result<std::vector<NamedTensor>> state_inputs(const IRModule& module);
/// Returns the open sizes in the types of the entry's parameters, by name.
std::vector<OpenSize> entry_sizes(const IRModule& module);
/// Returns the index in `names` of a name or a number. Errors: slug "unknown-region", with the
/// nearest name.
Result<size_t> find_region(const std::string& region, const std::vector<std::string>& names);

}  // namespace byoc::driver
