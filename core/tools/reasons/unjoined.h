// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds pairs of regions of one plugin that might have been one region, with the reason why not.
#include <string>
#include <string_view>
#include <vector>

#include "byoc/host/plugins.h"
#include "byoc/ir/module.h"

namespace byoc::driver {

/// Two regions of one plugin in one function of the model, the first one before the second one.
struct UnjoinedPair {
  enum Why {
    kBetween,       // every value on its way from one to the other passes ops of others
    kAround,        // some value does, so that one region would depend on itself
    kOps,           // together they have more ops than max_ops
    kBytes,         // together they have more bytes than max_bytes
    kUnconnected,   // no value goes from one to the other, and the plugin is not horizontal
    kOptimisation,  // -O0 joins nothing
    kSearch         // nothing forbids it
  };
  Why why = kSearch;
  Symbol plugin, first, second;  // the functions' names
  uint64_t has = 0, limit = 0;   // kOps, kBytes
  std::vector<Symbol> through;   // kBetween, kAround: locs of ops on the way, at most kMostOps
  static constexpr size_t kMostOps = 8;
};

/// Returns the word for `why` in JSON.
std::string_view why_text(UnjoinedPair::Why why);

/// Compares each region with the nearest one of its plugin before it, and with each one that it
/// reads from. `partitioned` is what partition_graph returned. At most kMostPairs pairs.
/// Cost: O((nodes + operands) * plugins), and O(kMostVisits) per pair.
std::vector<UnjoinedPair> unjoined_regions(const IRModule& partitioned, const PluginSet& plugins,
                                           int level);
inline constexpr size_t kMostPairs = 10'000;

}  // namespace byoc::driver
