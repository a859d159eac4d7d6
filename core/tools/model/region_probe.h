// SPDX-License-Identifier: Apache-2.0
#pragma once
// Makes a partitioned module that also returns the results of its regions, so that they can be
// compared with those of another plugin.
#include "byoc/compile.h"
#include "byoc/runtime/tensor.h"

namespace byoc::driver {

/// An operand of a region's call. `output` is the result of the probed module that holds the same
/// value; SIZE_MAX for parameters and constants.
struct RegionArg {
  ValueId value;
  size_t output = SIZE_MAX;
};

/// The call of one region in the entry function.
struct RegionCall {
  Symbol function;
  std::string plugin;
  std::vector<RegionArg> args;
  size_t first_output = 0, num_outputs = 0;  // the range among the results of the probed module
};

struct ProbedModule {
  IRModule module;                  // the entry returns `values`, then its own results
  std::vector<RegionCall> regions;  // in order of execution
  std::vector<ValueId> values;      // results of the entry's regions, and of its loops and branches
};

/// Adds the results of all regions, loops and branches to those of the entry function. The regions
/// themselves do not change, so plugins compile them as before. States become plain inputs and
/// outputs of the entry.
Result<ProbedModule> expose_region_outputs(const IRModule& fused);
/// A probed module whose regions read parameters instead of results of other regions.
struct CutModule {
  IRModule module;             // its entry has one more parameter per entry of `values`
  std::vector<size_t> values;  // results of the probed module, by number
};
/// Makes values between regions parameters of the entry, so that each region can be given right
/// inputs:
///   before: %1 = @a(%x)   %2 = @b(%1)   return %1, %2, %2
///   after:  %1 = @a(%x)   %2 = @b(%p)   return %1, %2, %2       with a new parameter %p
/// Values whose extents are counted in each run are read as before.
CutModule cut_at_borders(const ProbedModule& probed);
/// The plugin of the reference kernels, which are the definitions of the ops.
inline constexpr std::string_view kReferencePlugin = "json";
/// Assigns every region of `module` to `plugin`. For the reference plugin, loops that are made of
/// ops of libraries become these ops again: it has their reference kernels.
IRModule with_all_regions_for(IRModule module, const std::string& plugin);
/// Returns a module whose entry only calls `function`. It also has the composites of `from`.
IRModule module_calling(const IRModule& from, Symbol name, Function function);
/// Compiles a module after the pass fuse_ops or choose_computes. It may be a part of a model: rules
/// about computes that name something else are no error.
Result<Executable> compile_regions(IRModule fused, const PassContext& context);

}  // namespace byoc::driver
