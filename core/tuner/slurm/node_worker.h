// SPDX-License-Identifier: Apache-2.0
#pragma once
// The process on a machine of a cluster that measures batches for a tuner on another one.
#include "byoc/host/plugins.h"
#include "core/tuner/slurm/exchange.h"

namespace byoc::tune {

struct NodeOptions {
  std::string folder;   ///< ExchangeFolder
  size_t number = 0;    ///< of this worker
  std::string program;  ///< the byoc command, which has the processes that build and run
  std::vector<std::string> plugin_flags;  ///< --plugin and --plugin-option of these
  /// A tuner that showed no sign of life for this time has ended, and the worker ends too.
  std::chrono::milliseconds lost_after{60'000};
};

/// Measures batches until the tuner stops the worker, or has ended, or the folder is gone. Errors:
/// the files of the folder; starting processes. The worker's state has the error too.
Status serve_node(const NodeOptions& options, std::shared_ptr<const PluginSet> plugins);

}  // namespace byoc::tune
