// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which ops plugins take, found out by offering them the samples of the conformance kit.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "byoc/host/plugins.h"
#include "byoc/op/registry.h"

namespace byoc::driver {

/// The samples of one op, and how many of them each plugin takes.
struct OpCoverage {
  const OpDef* op = nullptr;
  size_t samples = 0;
  std::vector<size_t> taken;  // by plugin
};

struct Coverage {
  std::vector<std::string> plugins;  // ids, in order of priority
  std::vector<OpCoverage> ops;
};

/// Partitions every sample of `ops` for each of the plugins `ids`, or for all when there are none.
/// A plugin takes a sample when a function with the op is its own, with all operands as inputs or
/// with all but the first as constants. Code is not generated. `progress` is called after each op.
/// Ops without samples are left out.
Result<Coverage> coverage_of(const std::vector<const OpDef*>& ops,
                             std::shared_ptr<const PluginSet> plugins, std::vector<std::string> ids,
                             const std::function<void(size_t done)>& progress);

}  // namespace byoc::driver
