// SPDX-License-Identifier: Apache-2.0
#include "plugins/cuda/driver/queue.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "byoc/base/index_error.h"

namespace byoc::cuda {
namespace {

// Calls `is_done` until it returns true, at most for so long. Work of microseconds is waited for
// without sleeping.
template <class IsDone>
bool wait_until(uint64_t timeout_ns, IsDone&& is_done) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kSpin = std::chrono::microseconds(100), kSleep = std::chrono::microseconds(20);
  const auto begin = Clock::now();
  const auto end = begin + std::chrono::nanoseconds(std::min<uint64_t>(timeout_ns, 10'000'000'000));
  while (!is_done()) {
    const auto now = Clock::now();
    if (now >= end) return false;
    if (now - begin > kSpin) std::this_thread::sleep_for(kSleep);
  }
  return true;
}

}  // namespace

Failures::Failures(const Device& device) : device_(device) {
  const Device::Current current(device);
  const Library& cu = device.library();
  void* memory = nullptr;
  cu.check(cu.cuMemHostAlloc(&memory, kSlots * sizeof(Failure), kHostAllocDeviceMap),
           "allocating memory for failures");
  slots_ = static_cast<Failure*>(memory);
  std::fill_n(slots_, kSlots, Failure());
  cu.check(cu.cuMemHostGetDevicePointer_v2(&on_device_, memory, 0), "mapping memory for failures");
}

Failures::~Failures() {
  try {
    const Device::Current current(device_);
    device_.library().cuMemFreeHost(slots_);
  } catch (const sdk::Error&) {  // the device is gone
  }
}

CUdeviceptr Failures::slot(const std::vector<std::string>& ops) {
  std::lock_guard lock(mutex_);
  const auto known = std::ranges::find(functions_, &ops);
  const auto place = static_cast<size_t>(known - functions_.begin());
  if (known == functions_.end()) {
    if (place == kSlots)
      throw sdk::Error(BYOC_RESOURCE_EXHAUSTED,
                       "more than " + std::to_string(kSlots) + " functions check indices");
    functions_.push_back(&ops);
  }
  return on_device_ + place * sizeof(Failure);
}

void Failures::check() const {
  std::lock_guard lock(mutex_);
  for (size_t k = 0; k < functions_.size(); ++k) {
    const Failure& failure = slots_[k];
    if (failure.number <= 0 || static_cast<size_t>(failure.number) > functions_[k]->size())
      continue;
    const std::string& op = (*functions_[k])[static_cast<size_t>(failure.number - 1)];
    throw sdk::Error(BYOC_OUT_OF_RANGE,
                     index_outside(op, failure.index, failure.low, failure.extent).message());
  }
}

Queue::Queue(const Device& device) : device_(device) {
  const Device::Current current(device);
  device.library().check(device.library().cuStreamCreate(&handle_, kStreamNonBlocking),
                         "making a stream");
}

Queue::~Queue() {
  try {
    const Device::Current current(device_);
    const Library& cu = device_.library();
    wait_until(kMostWaitNs, [&] { return cu.cuStreamQuery(handle_) != kNotReady; });
    cu.cuStreamDestroy_v2(handle_);
  } catch (const sdk::Error&) {  // the device is gone
  }
}

void Queue::record(sdk::Event& event) {
  const Device::Current current(device_);
  auto& mine = static_cast<QueueEvent&>(event);
  mine.failures_ = failures_;
  device_.library().check(device_.library().cuEventRecord(mine.handle_, handle_),
                          "recording an event");
}

void Queue::wait(sdk::Event& event) {
  const Device::Current current(device_);
  const auto& other = static_cast<QueueEvent&>(event);
  for (const auto& one : other.failures_)
    if (std::ranges::find(failures_, one) == failures_.end()) failures_.push_back(one);
  device_.library().check(device_.library().cuStreamWaitEvent(handle_, other.handle_, 0),
                          "waiting for an event");
}

Failures& Queue::failures() {
  if (own_ == nullptr) {
    own_ = std::make_shared<Failures>(device_);
    failures_.push_back(own_);
  }
  return *own_;
}

QueueEvent::QueueEvent(const Device& device) : device_(device) {
  const Device::Current current(device);
  device.library().check(device.library().cuEventCreate(&handle_, kEventDisableTiming),
                         "making an event");
}

QueueEvent::~QueueEvent() {
  try {
    const Device::Current current(device_);
    device_.library().cuEventDestroy_v2(handle_);
  } catch (const sdk::Error&) {  // the device is gone
  }
}

bool QueueEvent::sync(uint64_t timeout_ns) {
  const Device::Current current(device_);
  const Library& cu = device_.library();
  CUresult result = kNotReady;
  const bool is_done = wait_until(timeout_ns, [&] {
    result = cu.cuEventQuery(handle_);
    return result != kNotReady;
  });
  if (!is_done) return false;
  cu.check(result, "work of " + device_.row().name);
  for (const auto& one : failures_) one->check();
  return true;
}

}  // namespace byoc::cuda
