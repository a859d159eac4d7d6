// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds the smallest run of nodes of a region that is wrong when it is compiled by itself.
#include "byoc/compile.h"
#include "byoc/runtime/tensor.h"
#include "core/tools/model/compare.h"
#include "core/tools/replay/case_sizes.h"

namespace byoc::driver {

struct ReducedRegion;

/// The two compilations that reduce_region compares, and how it compares them.
struct RegionTest {
  PassContext ours, reference;  // `ours` compiles the region, `reference` computes right values
  std::string reference_plugin;
  std::shared_ptr<const PluginSet> plugins;
  uint32_t threads = 1;
  SizeNumbers sizes;  // at which the inputs were computed
  /// Returns the limits of the results of `region`, a part of the one that is reduced.
  std::function<Result<std::vector<Limit>>(const IRModule& module, Symbol region)> limits;
  /// Returns true when the reduced region is also wrong in a new process, in which nothing was
  /// computed before. Empty: not checked.
  std::function<Result<bool>(const ReducedRegion&)> is_wrong_anew = {};
};

/// The verdict of a run of the reduced region in a new process.
enum class Confirmation : uint8_t {
  kNotAsked,
  kWrong,      // wrong there, too
  kRight,      // right there: it depends on earlier computations of this process
  kNoVerdict,  // it cannot be run there
};

struct ReducedRegion {
  IRModule module;  // its entry calls the smallest region and nothing else
  Symbol region;
  std::vector<Tensor> inputs, outputs;  // right values of that region's parameters and results
  size_t from_ops = 0, to_ops = 0, runs = 0;  // a composite counts as one op
  Confirmation confirmation = Confirmation::kNotAsked;
  std::string why_no_verdict;
};

/// Finds a wrong node by bisection, then removes nodes before it while it stays wrong. Values of
/// removed nodes become parameters with their right values, so that fusion among the other nodes
/// does not change. `inputs` are right values for the parameters of `region`. A result that is
/// right in a new process is widened until it is wrong there, or is the whole region: libraries
/// cache kernels, so that a wrong kernel may run again in pieces that are right without it.
/// Errors: those of compiling the whole region; a part that does not compile counts as right.
Result<ReducedRegion> reduce_region(const IRModule& fused, Symbol region,
                                    std::vector<Tensor> inputs, const RegionTest& test);

}  // namespace byoc::driver
