// SPDX-License-Identifier: Apache-2.0
#pragma once
// Streams and events. A stream has the failures of its kernels: indices outside of their tensors.
#include "plugins/cuda/driver/device.h"

namespace byoc::cuda {

/// A failure as a kernel writes it.
struct Failure {
  int64_t number = 0;  // from 1 on; 0: none
  int64_t index = 0, low = 0, extent = 0;
};

/// Memory of the host that kernels of one stream write failures to: a slot per function.
class Failures {
 public:
  static constexpr size_t kSlots = 128;
  explicit Failures(const Device& device);
  ~Failures();
  Failures(const Failures&) = delete;
  Failures& operator=(const Failures&) = delete;
  /// Returns the address on the device of the slot of the function with these ops.
  CUdeviceptr slot(const std::vector<std::string>& ops);
  /// Throws BYOC_OUT_OF_RANGE for the first failure there is.
  void check() const;

 private:
  const Device& device_;
  Failure* slots_ = nullptr;
  CUdeviceptr on_device_ = 0;
  mutable std::mutex mutex_;
  std::vector<const std::vector<std::string>*> functions_;
};

class Queue : public sdk::Stream {
 public:
  explicit Queue(const Device& device);
  /// Work that has begun cannot be dropped: waits for it, at most kMostWaitNs, as copies may still
  /// use memory of the host.
  ~Queue() override;
  void record(sdk::Event& event) override;
  void wait(sdk::Event& event) override;
  CUstream handle() const { return handle_; }
  const Device& device() const { return device_; }
  Failures& failures();

 private:
  static constexpr uint64_t kMostWaitNs = 10'000'000'000;
  const Device& device_;
  CUstream handle_ = nullptr;
  std::shared_ptr<Failures> own_;  // made when a kernel that may fail is launched
  std::vector<std::shared_ptr<const Failures>> failures_;  // and of work that this one waits for
};

class QueueEvent : public sdk::Event {
 public:
  explicit QueueEvent(const Device& device);
  ~QueueEvent() override;
  bool sync(uint64_t timeout_ns) override;

 private:
  friend class Queue;
  const Device& device_;
  CUevent handle_ = nullptr;
  std::vector<std::shared_ptr<const Failures>> failures_;  // of the work before it
};

}  // namespace byoc::cuda
