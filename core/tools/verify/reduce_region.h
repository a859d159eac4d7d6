#pragma once
// From a region that computes something wrong to the fewest of its nodes that still do.
#include "byoc/compile.h"
#include "byoc/runtime/tensor.h"

namespace byoc::driver {

struct Trial {
  PassContext ours, reference;  // how the region is compiled, and what is right
  std::string reference_plugin;
  std::shared_ptr<const PluginSet> plugins;
  uint32_t threads = 1;
  /// Are these outputs equal enough?
  std::function<bool(const Tensor& got, const Tensor& wanted)> agree;
};

struct Narrowed {
  IRModule module;  // an entry that calls the smallest region
  Symbol region;
  std::vector<Tensor> inputs, outputs;        // right values of that region's borders
  size_t from_ops = 0, to_ops = 0, runs = 0;  // composites count as one
};

/// `inputs` are right values for the parameters of `region`. The first node that is wrong is
/// searched by halves, then nodes before it are left out as long as it stays wrong; what a piece
/// reads from left-out nodes are their right values, so that fusion inside the piece is as it was.
/// Errors: those of compiling the whole region; a piece that does not compile counts as right.
Result<Narrowed> narrow_region(const IRModule& fused, Symbol region, std::vector<Tensor> inputs,
                               const Trial& trial);

}  // namespace byoc::driver
