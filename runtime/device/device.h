// SPDX-License-Identifier: Apache-2.0
#pragma once
// A device of a plugin: its memory, streams and events as objects that free themselves.
#include <memory>

#include "byoc/host/plugins.h"

namespace byoc {

/// The alignment of tensors in the arena of a device, in bytes.
inline constexpr uint64_t kDeviceAlignment = 256;

class Device;

/// Frees an object of a device by the slot of its kind. The Device outlives it.
struct FreeOnDevice {
  const Device* device = nullptr;
  void operator()(void* memory) const;
  void operator()(byoc_stream* stream) const;
  void operator()(byoc_event* event) const;
};
using DeviceMemory = std::unique_ptr<void, FreeOnDevice>;
using DeviceStream = std::unique_ptr<byoc_stream, FreeOnDevice>;
using DeviceEvent = std::unique_ptr<byoc_event, FreeOnDevice>;

/// The limits of a wait.
struct DeviceWait {
  uint64_t timeout_ms = 0;               ///< 0: none
  const Cancellation* cancel = nullptr;  ///< null: cannot be cancelled
};

/// The ends of a copy of bytes: one of them, or both, on the device.
struct DeviceCopy {
  void* to;
  const void* from;
  bool to_device, from_device;
  uint64_t bytes;
};

/// Gives an error of a slot that works on a device its name: "device-lost" to kUnavailable, and
/// "device-memory" to kResourceExhausted.
Status device_error(Status status);

/// A device of a plugin of a PluginSet, which outlives it. Does not move: what it makes points to
/// it. Its calls may run at the same time, but for two on one stream or event. Errors of all calls:
/// kUnavailable, slug "device-lost", for a device that is gone; kResourceExhausted, slug
/// "device-memory"; those of the plugin.
class Device {
 public:
  /// Finds the device. Errors: kUnavailable, slug "device-unavailable", with the reason for which
  /// the plugin has no such device now.
  static Result<std::unique_ptr<Device>> find(const Plugin& plugin, uint32_t type, uint32_t id);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const Plugin& plugin() const { return plugin_; }
  const DeviceInfo& info() const { return info_; }
  DLDevice id() const;
  /// Returns `sim:0 ("simulated")`.
  std::string name() const;

  /// Allocates memory for `what`, which errors name; empty for 0 bytes.
  Result<DeviceMemory> allocate(uint64_t bytes, uint64_t align, std::string_view what) const;
  Result<DeviceStream> make_stream() const;
  Result<DeviceEvent> make_event() const;
  /// Enqueues a copy; null: returns when it is done.
  Status copy(const DeviceCopy& copy, byoc_stream* stream) const;
  Status record(byoc_event* event, byoc_stream* stream) const;
  /// Lets the later work of the stream wait for the event.
  Status wait(byoc_event* event, byoc_stream* stream) const;
  /// Waits on this thread. Errors: also kDeadlineExceeded, slug "device-timeout"; kCancelled, slug
  /// "interrupted".
  Status sync(byoc_event* event, const DeviceWait& limits) const;

 private:
  friend struct FreeOnDevice;
  Device(const Plugin& plugin, DeviceInfo info) : plugin_(plugin), info_(std::move(info)) {}
  template <class F>
  Status call(const char* slot, F&& f) const;

  const Plugin& plugin_;
  DeviceInfo info_;
};

}  // namespace byoc
