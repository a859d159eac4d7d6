// SPDX-License-Identifier: Apache-2.0
#pragma once
// The number of a device's type, as callers and plugins give it.
#include <dlpack/dlpack.h>

#include <cstring>

namespace byoc {

/// Returns the number of the device's type. A caller or a plugin may have it from a later DLPack
/// than this one, or may be wrong: C++ leaves it undefined to read such a number as the enum.
/// Thread-safe.
inline int device_type_of(const DLDevice& device) {
  static_assert(sizeof(int) == sizeof device.device_type);
  int number = 0;
  std::memcpy(&number, &device.device_type, sizeof number);
  return number;
}

}  // namespace byoc
