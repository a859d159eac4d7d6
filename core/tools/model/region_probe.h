#pragma once
// A partitioned module whose region borders are outputs: what `verify` compares region by region.
#include "byoc/compile.h"
#include "byoc/runtime/tensor.h"

namespace byoc::driver {

/// An operand of a region's call: a value of the entry function, and where among the borders it
/// stands when another region made it.
struct BorderArg {
  ValueId value;
  size_t border = SIZE_MAX;
};

/// One region of the entry function.
struct RegionBorder {
  Symbol function;
  std::string plugin;
  std::vector<BorderArg> args;
  size_t first_output = 0, num_outputs = 0;  // among the results of the probed module
};

struct Probe {
  IRModule module;                    // the entry returns all borders, then its own results
  std::vector<RegionBorder> regions;  // in order of execution
};

/// Regions stay as they are, so what plugins make of them does not change.
Result<Probe> probe_borders(const IRModule& fused);
/// The same module with every region given to `plugin` instead, composites dissolved.
IRModule with_all_regions_for(IRModule module, const std::string& plugin);
/// A module whose entry does nothing but call `function`, with the composites of `from` at hand.
IRModule calling(const IRModule& from, Symbol name, Function function);
/// Compiles what is partitioned and fused already.
Result<Executable> compile_regions(IRModule fused, const PassContext& context);

}  // namespace byoc::driver
