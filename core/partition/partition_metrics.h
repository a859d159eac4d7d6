// SPDX-License-Identifier: Apache-2.0
#pragma once
// Measures of a partition: its regions and its border tensors.
//
// A place is a region, the call of a compiled function, an extern, or the rest: all other ops of a
// function, together. A border tensor is a distinct value that an op of one place computes and an
// op of another place reads; it counts once, however many places read it.
// Inputs of the model and constants are not border tensors. An output of the model is one only when
// another place reads it too. Those are the same in every partition.
#include "byoc/pass/pass.h"
#include "core/region/annotations.h"

namespace byoc {

struct PartitionMetrics {
  uint64_t regions = 0;  // regions, calls of compiled functions and externs
  uint64_t tensors = 0;  // border tensors
  uint64_t bytes = 0;    // sum over border tensors of known size
  PartitionMetrics& operator+=(const PartitionMetrics& other);
};

PartitionMetrics measure_partition(const IRModule& module, const Function& function,
                                   const Annotations& annotations);
/// Measures all functions of a module, before or after partition_graph.
/// Errors: those of the annotations.
Result<PartitionMetrics> measure_partition(const IRModule& module);
/// The regions that the baseline (core/partition/convex/waves.h) makes of one group, which may be
/// unconnected.
/// kConnected: each connected component is a region unless the plugin has the flag HORIZONTAL.
/// kWhole: the group is one region.
enum class WaveRegions { kConnected, kWhole };
/// Measures the partition that the baseline makes of the open regions of an annotated module.
Result<PartitionMetrics> measure_waves(const IRModule& annotated, const PassContext& context,
                                       WaveRegions regions);

}  // namespace byoc
