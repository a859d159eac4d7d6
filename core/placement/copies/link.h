// SPDX-License-Identifier: Apache-2.0
#pragma once
// The link between the host and a device.
#include <cstdint>
#include <string>

namespace byoc::placement {

/// The cost of copies to and from a device of a plugin.
struct Link {
  /// One direction. A copy takes latency_ns + bytes / gb_per_s, with its start and the wait for its
  /// end. The assumed figures are for pageable memory over 16 lanes of PCIe 4; one H200 with pinned
  /// memory has 6,000 ns and 40 GB/s.
  struct Direction {
    double latency_ns = 10'000, gb_per_s = 10;
    double ns(double bytes) const { return latency_ns + bytes / gb_per_s; }
  };
  std::string plugin, version;  // version: with the hash of the plugin's file
  uint32_t device = 0;          // the plugin's number
  Direction in, out;            // to the device, and from it
  bool is_measured = false;     // false: assumed
};

}  // namespace byoc::placement
