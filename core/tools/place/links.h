// SPDX-License-Identifier: Apache-2.0
#pragma once
// Measures the links between the host and devices.
#include "byoc/host/plugins.h"
#include "core/placement/copies/link.h"

namespace byoc::driver {

/// Copies to and from each device of the plugins, and returns what a copy takes by its bytes: small
/// copies have the latency, large ones the bandwidth. A copy is enqueued on a stream, and the host
/// waits for its end, as in a run. In a child process per plugin, so that a device that crashes or
/// hangs has no link. Takes some 50 ms per device.
std::vector<placement::Link> measure_links(const std::vector<const Plugin*>& plugins);

}  // namespace byoc::driver
