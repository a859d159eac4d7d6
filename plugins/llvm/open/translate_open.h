// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions with open sizes as tensor expressions, and the same with numbers for the sizes.
#include <optional>

#include "byoc/ir/module.h"
#include "byoc/te/target.h"
#include "byoc/te/tensor.h"

namespace byoc::llvm_plugin {

/// Returns true when a type of the entry, or of what it invokes, has an open dim.
bool has_open_sizes(const IRModule& module);

/// Returns the module with numbers for its sizes. Errors: kUnimplemented for a size that has no
/// upper bound.
Result<IRModule> nominal_module(const IRModule& module);

/// A function at the least numbers of its sizes, and the condition that a run has these.
struct LeastDag {
  te::Dag dag;
  te::Expr holds;
};
/// The Dags of one function by the same computes. Stages and axes have the same names.
struct OpenDag {
  te::Dag open;     ///< extents are expressions of the sizes
  te::Dag nominal;  ///< extents are numbers for the sizes, for which schedules are chosen
  /// The function for one image, where its only size is a number of images that may be one: most
  /// runs have one image, for which other schedules are fast.
  std::optional<LeastDag> one_image;
};
/// Translates a function with open sizes for their least numbers, as a function of numbers is, if
/// it has a product; nullopt for others. Errors: those of translate_to_te.
Result<std::optional<LeastDag>> translate_least(const IRModule& module, const te::Target& target);

/// Translates a function with open sizes. Errors: those of translate_to_te; kUnimplemented for a
/// size without an upper bound, and for an op whose computes need numbers.
Result<OpenDag> translate_open(const IRModule& module, const te::Target& target);

}  // namespace byoc::llvm_plugin
