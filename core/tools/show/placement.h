// SPDX-License-Identifier: Apache-2.0
#pragma once
// Maps each op of a partitioned module to the plugin that runs it. Used by the commands partition,
// explain and verify.
#include <nlohmann/json_fwd.hpp>

#include "byoc/ir/module.h"
#include "core/partition/partition_metrics.h"

namespace byoc::driver {

struct PlacedOp {
  Symbol op, name;                     // name: its loc
  Symbol plugin, function, composite;  // plugin "": none; composite "": not in one
  double flops = 0;
};

struct PlacedRegion {
  Symbol plugin, function;
  size_t ops = 0;
  double flops = 0;
};

struct TensorTotal {
  uint64_t tensors = 0;
  uint64_t bytes = 0;  // of those whose size is known
  void add(TypeId type);
};

struct Placement {
  std::vector<PlacedOp> ops;  // annotations left out
  std::vector<PlacedRegion> regions;
  PartitionMetrics borders;     // core/partition/partition_metrics.h
  TensorTotal inputs, outputs;  // of the entry function
};

/// Returns the ops of all functions that the entry function reaches. Each function counts once.
Placement placement_of(const IRModule& module);
/// Gives ops without a loc one such as "conv2d_12", so that reports can name them.
IRModule with_names(IRModule module);
uint64_t constant_bytes(const IRModule& module);
double total_flops(const Placement& placement);
/// Returns "9.40 GFLOP" for 9400000000.
std::string flops_text(double flops);
std::string percent_text(double part, double whole);
/// Returns a row per plugin: regions, ops, flops. The row `unplaced` has the ops without a plugin.
std::string plugin_table(const Placement& placement, const std::string& unplaced);
std::string tensors_text(uint64_t tensors, uint64_t bytes);  // "4 tensors (6.20 MiB)"
/// Returns "inputs: 1 tensor (0.57 MiB)   outputs: 1 tensor (0.01 MiB)".
std::string ends_text(const Placement& placement);
/// Returns "borders: 4 tensors (6.20 MiB)   inputs: ...".
std::string border_text(const Placement& placement);
/// Returns members "plugins", "regions", "border_tensors", "border_bytes", and likewise the tensors
/// and bytes of inputs and outputs.
nlohmann::ordered_json placement_json(const Placement& placement);

}  // namespace byoc::driver
