// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cuts a model into regions, each of which one plugin compiles.
#include "byoc/model.h"

namespace byoc {

struct PartitionOptions {
  /// The partitioned module goes there, .ir; "-": into `json`, as text; "": nowhere. partition_for
  /// (byoc/compile.h) returns it as an IRModule.
  std::string module_file;
  std::string svg_file;  ///< the picture goes there, .svg; "": none
  bool draws = false;    ///< the picture is in the result; with a `svg_file` it is
};

struct PartitionedRegion {
  std::string plugin, function;
  size_t ops = 0;
  double flops = 0;  ///< of one run
};

struct ModelPartition {
  std::vector<PartitionedRegion> regions;
  size_t border_tensors = 0;  ///< distinct ones that enter or leave a region inside the model
  uint64_t border_bytes = 0;  ///< of those whose size is known
  std::string svg;            ///< ops coloured by plugin, a box per region; "": not drawn
  std::string warning;        ///< the sizes that are open, which do not compile; "": none are
  std::string json;           ///< what `byoc partition --json` prints
};

/// Partitions the model, without compiling it. Thread-safe. Errors: those of load_model,
/// build_options, the passes up to partition_graph and of writing; slug "too-large" for a picture.
Result<ModelPartition> partition_model(const ModelRequest& request,
                                       const PartitionOptions& options = {});

}  // namespace byoc
