// SPDX-License-Identifier: Apache-2.0
#pragma once
// Makes a partitioned module that also returns the results of its regions, so that they can be
// compared with those of another plugin.
#include "byoc/compile.h"
#include "byoc/runtime/tensor.h"

namespace byoc::driver {

/// An operand of a region's call. `output` is the result of the probed module that holds the same
/// value; SIZE_MAX when no region computes it.
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
  IRModule module;                  // the entry returns the results of all regions, then its own
  std::vector<RegionCall> regions;  // in order of execution
};

/// Adds the results of all regions to those of the entry function. The regions themselves do not
/// change, so plugins compile them as before.
Result<ProbedModule> expose_region_outputs(const IRModule& fused);
/// Assigns every region of `module` to `plugin`.
IRModule with_all_regions_for(IRModule module, const std::string& plugin);
/// Returns a module whose entry only calls `function`. It also has the composites of `from`.
IRModule module_calling(const IRModule& from, Symbol name, Function function);
/// Compiles a module after the pass fuse_ops or choose_computes. It may be a part of a model: rules
/// about computes that name something else are no error.
Result<Executable> compile_regions(IRModule fused, const PassContext& context);

}  // namespace byoc::driver
