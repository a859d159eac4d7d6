// SPDX-License-Identifier: Apache-2.0
#pragma once
// The counts that tests read of the plugin "sim", to which the option `counts` gives the address.
#include <atomic>
#include <cstdint>

namespace sim {

/// All work so far, as the plugin was given it.
struct Counts {
  std::atomic<uint64_t> in_bytes{0}, out_bytes{0}, in_copies{0}, out_copies{0}, kernels{0};
  /// The time that each kind of work took, ns.
  std::atomic<uint64_t> in_ns{0}, out_ns{0}, kernel_ns{0};
};

}  // namespace sim
