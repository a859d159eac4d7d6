#pragma once
// What the regions of a partitioned model are given and what is right for them, by a reference.
#include "core/tools/model/region_probe.h"

namespace byoc::driver {

class RegionValues {
 public:
  /// Partitions and fuses `module` as `build` says, then runs it on `inputs` with every region
  /// given to the plugin `reference`. Functions stay as they are, so what plugins make of them does
  /// too.
  static Result<RegionValues> compute(IRModule module, const BuildOptions& build,
                                      const std::string& reference, std::vector<Tensor> inputs);

  const IRModule& fused() const { return fused_; }
  const Probe& probe() const { return probe_; }
  const PassContext& ours() const { return ours_; }            // how the regions are compiled
  const PassContext& reference() const { return reference_; }  // and by the reference
  /// All results of all regions, in the order of the probed module's outputs.
  const std::vector<Tensor>& right() const { return right_; }
  /// Copies: what the region's parameters are when everything before it is right, and its results.
  Result<std::vector<Tensor>> inputs_of(const RegionBorder& region) const;
  Result<std::vector<Tensor>> outputs_of(const RegionBorder& region) const;
  /// By symbol, or by number in order of execution. Errors: slug "unknown-region", with the
  /// nearest.
  Result<const RegionBorder*> find(const std::string& region) const;

 private:
  IRModule fused_;
  Probe probe_;
  PassContext ours_, reference_;
  std::vector<Tensor> inputs_, right_;
};

/// The regions alone, in order of execution; nothing is run.
Result<std::vector<RegionBorder>> regions_of(IRModule module, const BuildOptions& build);
/// `build` with everything given to `plugin`; default codegens still take what it refuses.
BuildOptions all_by(const std::string& plugin, BuildOptions build);
/// The inputs of the entry function. Errors: slug "symbolic-shape".
Result<std::vector<NamedTensor>> entry_inputs(const IRModule& module);
/// A name or a number: its place in `names`. Errors: slug "unknown-region", with the nearest.
Result<size_t> find_region(const std::string& region, const std::vector<std::string>& names);

}  // namespace byoc::driver
