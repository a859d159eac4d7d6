// SPDX-License-Identifier: Apache-2.0
#pragma once
// The order of the steps of a program with devices: which queue each step runs in, and which
// earlier steps it waits for. Made once per program.
#include <span>
#include <vector>

#include "byoc/runtime/artifact.h"

namespace byoc {

/// The queues of a device. Work in one queue is in order; work in two is ordered by events.
enum class DeviceQueue : uint8_t { kIn, kCompute, kOut };
inline constexpr uint32_t kDeviceQueues = 3;

/// The turn of one step. A queue is numbered by device * kDeviceQueues + DeviceQueue.
struct StepOrder {
  static constexpr uint32_t kHost = UINT32_MAX;
  uint32_t queue = kHost;            ///< where its work is enqueued; kHost: it ends with the call
  uint32_t device = kHost;           ///< of a kernel or a copy, also of one that ends with the call
  bool is_recorded = false;          ///< a later step waits for it
  std::vector<uint32_t> host_waits;  ///< steps that the host waits for before the step
  std::vector<uint32_t>
      queue_waits;               ///< steps of other queues of the device that its queue waits for
  std::vector<uint32_t> drains;  ///< steps that the host waits for after the step
};

/// The kernel of a step, as far as the order depends on it.
struct StepTraits {
  uint32_t device = StepOrder::kHost;  ///< that it runs on
  bool is_async = false;
  bool has_workspace = false;  ///< on that device
};

/// Orders the steps: a step waits for earlier ones in other queues that write memory which it uses,
/// or use memory which it writes. `traits`: per step. Before an instruction other than a call, and
/// at the end of the program, the host waits for all work. O(n log n) in the number of arguments.
std::vector<StepOrder> order_steps(const Executable& executable,
                                   std::span<const StepTraits> traits);

}  // namespace byoc
