// SPDX-License-Identifier: Apache-2.0
#pragma once
// A device of the driver with its context, streams and events.
#include <atomic>
#include <mutex>
#include <vector>

#include "byoc/plugin/sdk/device.h"
#include "plugins/cuda/driver/library.h"

namespace byoc::cuda {

/// Thread-safe. The context, which takes a second and memory, is made when it is first used.
class Device {
 public:
  /// Throws BYOC_UNAVAILABLE when there is no such device.
  Device(std::shared_ptr<const Library> library, int number);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  const Library& library() const { return *library_; }
  int number() const { return number_; }
  int sm() const { return sm_; }  ///< 86 for the compute capability 8.6
  sdk::DeviceRow row() const;
  void* allocate(uint64_t bytes) const;  ///< nullptr: no memory is left
  void release(void* memory) const noexcept;
  void copy(const byoc_copy& copy, CUstream stream) const;

  /// Makes the context current on this thread while it lives.
  class Current {
   public:
    explicit Current(const Device& device);
    ~Current();
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

   private:
    const Library& library_;
  };

 private:
  CUcontext context() const;
  std::shared_ptr<const Library> library_;
  int number_;
  CUdevice handle_ = 0;
  int sm_ = 0;
  std::string name_;
  uint64_t bytes_ = 0;
  mutable std::mutex mutex_;
  mutable CUcontext context_ = nullptr;
};

/// Memory of a device, freed with this object.
class DeviceMemory {
 public:
  explicit DeviceMemory(std::shared_ptr<const Device> device) : device_(std::move(device)) {}
  DeviceMemory(DeviceMemory&&) = default;
  ~DeviceMemory() {
    for (void* memory : memory_) device_->release(memory);
  }
  /// Throws BYOC_RESOURCE_EXHAUSTED.
  void* add(uint64_t bytes) {
    void* out = device_->allocate(bytes);
    if (out == nullptr)
      throw sdk::Error(BYOC_RESOURCE_EXHAUSTED,
                       "no memory on the device for " + std::to_string(bytes) + " bytes");
    memory_.push_back(out);
    return out;
  }

 private:
  std::shared_ptr<const Device> device_;
  std::vector<void*> memory_;
};

}  // namespace byoc::cuda
