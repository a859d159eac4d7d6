// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory on devices of plugins, for programs that keep inputs and outputs of runs there.
#include <memory>
#include <optional>
#include <string>

#include "byoc/host/plugins.h"
#include "byoc/runtime/artifact.h"
#include "byoc/runtime/tensor.h"

namespace byoc {

/// Memory on a device of a plugin. Movable. Holds the plugins.
class DeviceBuffer {
 public:
  /// Allocates memory on device `id` of a plugin, which may be more aligned than 256 bytes. Errors:
  /// kNotFound, slug "missing-plugin"; slug "device-unavailable", "device-memory", "device-lost".
  static Result<DeviceBuffer> make(std::shared_ptr<const PluginSet> plugins,
                                   const std::string& plugin, uint32_t id, uint64_t bytes);
  DeviceBuffer(DeviceBuffer&&) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&&) noexcept;
  ~DeviceBuffer();

  void* data() const;           ///< an address of the device: the host cannot read there
  uint64_t size_bytes() const;  ///< as in make
  DLDevice device() const;      ///< for DLTensor::device
  /// Returns a tensor of that type at the begin of the memory. It points to `type`. `type`: without
  /// open or counted sizes, and not larger than the memory.
  DLTensor view(const TensorSpec& type) const;
  /// Copies bytes of the host to the begin of the memory, or back. Returns when it is done. Errors:
  /// kOutOfRange for more than size_bytes(); slug "device-lost".
  Status write(const void* from, uint64_t bytes);
  Status read(void* to, uint64_t bytes) const;

 private:
  struct State;
  explicit DeviceBuffer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Returns the device that kernels read input `k` on, as a number of program.devices: a run copies
/// nothing of it when it is there. None: the host reads it, or k is no input.
std::optional<size_t> device_of_input(const Program& program, size_t k);
/// Returns the device that a kernel writes output `k` on, likewise.
std::optional<size_t> device_of_output(const Program& program, size_t k);

}  // namespace byoc
