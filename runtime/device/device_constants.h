// SPDX-License-Identifier: Apache-2.0
#pragma once
// Constants in the memory of devices, copied there once for all sessions of a PluginSet.
#include <vector>

#include "runtime/device/device.h"

namespace byoc {

/// A constant on a device. Freed with the last session that holds it.
struct DeviceConstant {
  std::shared_ptr<const Device> device;
  DeviceMemory memory;  // after the device: it is freed before
};

/// Returns the constant in the memory of that device: the copy that another session holds, or a new
/// one. Threads that request the same constant wait for the one that copies. Errors: those of
/// Device::allocate and Device::copy.
Result<std::shared_ptr<const DeviceConstant>> constant_on_device(
    const std::shared_ptr<const Device>& device, const ContentKey& key, const Buffer& bytes);

}  // namespace byoc
