// SPDX-License-Identifier: Apache-2.0
#pragma once
// Who runs what, read off a partitioned module: for `partition`, `explain` and `verify`.
#include <nlohmann/json_fwd.hpp>

#include "byoc/ir/module.h"
#include "core/partition/partition_metrics.h"

namespace byoc::driver {

struct PlacedOp {
  Symbol op, name;                     // name: its loc
  Symbol plugin, function, composite;  // plugin "": nobody; composite "": alone
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

/// Everything the entry function reaches; each function counts once.
Placement placement_of(const IRModule& module);
/// Ops without a location get one, "conv2d_12", so that reports can name them.
IRModule with_names(IRModule module);
uint64_t constant_bytes(const IRModule& module);
double total_flops(const Placement& placement);
/// 9400000000 -> "9.4 GFLOP".
std::string flops_text(double flops);
std::string percent_text(double part, double whole);
/// A row per plugin: regions, ops, flops; what nobody has goes under `nobody`.
std::string plugin_table(const Placement& placement, const std::string& nobody);
std::string tensors_text(uint64_t tensors, uint64_t bytes);  // "4 tensors (6.20 MiB)"
/// "inputs: 1 tensor (0.57 MiB)   outputs: 1 tensor (0.01 MiB)"
std::string ends_text(const Placement& placement);
/// "borders: 4 tensors (6.20 MiB)   inputs: ..."
std::string border_text(const Placement& placement);
/// "plugins", "regions", "border_tensors", "border_bytes", and the same of inputs and outputs.
nlohmann::ordered_json placement_json(const Placement& placement);

}  // namespace byoc::driver
