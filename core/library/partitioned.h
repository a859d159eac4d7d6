// SPDX-License-Identifier: Apache-2.0
#pragma once
// The work of `byoc partition`.
#include <nlohmann/json_fwd.hpp>

#include "byoc/partition.h"
#include "core/tools/model/model_options.h"
#include "core/tools/show/picture.h"
#include "core/tools/show/placement.h"

namespace byoc::driver {

/// The partitioned module, and the metrics of the baseline for the same annotations.
struct PartitionedModel {
  IRModule module;
  PartitionMetrics baseline, unconnected;  // unconnected: a whole group is one region
  Placement placement;
  Picture picture;  // with PartitionOptions::draws
  Status inputs;    // not ok: inputs have open sizes
};

/// Partitions the model of `options`, and writes the files that `with` names, except "-".
Result<PartitionedModel> partition_file(const ModelOptions& options, const PartitionOptions& with);
/// Returns the members of byoc.partition/1.
nlohmann::ordered_json json_of(const PartitionedModel& partitioned, const PartitionOptions& with);

}  // namespace byoc::driver
