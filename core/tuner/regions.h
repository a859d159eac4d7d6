// SPDX-License-Identifier: Apache-2.0
#pragma once
// The functions of a module that plugins compile to one kernel each, with the choices for them.
#include "byoc/compile.h"
#include "byoc/tune/space.h"

namespace byoc::tune {

/// A function whose plugin makes one kernel for it, with the functions equal to it.
struct Region {
  const Function* function = nullptr;
  Symbol name;
  std::vector<std::string> symbols, locs;
  size_t calls = 0;
};

/// Returns the passes of build that come before run_codegen.
std::vector<Pass> passes_before_codegen(const PassContext& context);
/// Returns the regions of a module, equal ones as one, in the order of names.
std::vector<Region> distinct_regions(const IRModule& module);

/// A region for which its plugin has choices.
struct KnobbedRegion {
  const Plugin* plugin = nullptr;
  CompileFunction input;
  Space space;             ///< narrowed to the compute that the program has chosen
  bool has_choice = true;  ///< false: that left one point
};
/// Returns nothing for a region without a space. Errors: those of the plugin; slug "symbolic-shape"
/// for a type without numbers.
Result<std::optional<KnobbedRegion>> knobbed(const IRModule& module, const Region& region,
                                             const PassContext& context);

/// The task of a region at the point that the plugin compiles without a history.
struct OwnPoint {
  std::vector<std::string> symbols, locs;
  std::string text, point;  ///< of Space::task, and print(Point); empty without a space
};
/// Returns one entry per distinct region of a module. With `has_passes` it is a module as build
/// takes it, otherwise one that is partitioned and fused. Errors: those of passes and knobs.
Result<std::vector<OwnPoint>> own_points(IRModule module, const BuildOptions& options,
                                         bool has_passes);

}  // namespace byoc::tune
