// SPDX-License-Identifier: Apache-2.0
#include "plugins/cuda/driver/device.h"

namespace byoc::cuda {
namespace {

CUdeviceptr address(const void* memory) { return reinterpret_cast<CUdeviceptr>(memory); }

}  // namespace

Device::Device(std::shared_ptr<const Library> library, int number)
    : library_(std::move(library)), number_(number) {
  const Library& cu = *library_;
  int count = 0;
  cu.check(cu.cuDeviceGetCount(&count), "counting devices");
  if (number >= count)
    throw sdk::Error(BYOC_UNAVAILABLE, "there is no CUDA device " + std::to_string(number) +
                                           ", the driver has " + std::to_string(count) +
                                           ": see `nvidia-smi` and CUDA_VISIBLE_DEVICES");
  cu.check(cu.cuDeviceGet(&handle_, number), "opening CUDA device " + std::to_string(number));
  char name[256] = {};
  cu.check(cu.cuDeviceGetName(name, sizeof name - 1, handle_), "the name of the device");
  name_ = name;
  size_t bytes = 0;
  cu.check(cu.cuDeviceTotalMem_v2(&bytes, handle_), "the memory of " + name_);
  bytes_ = bytes;
  int major = 0, minor = 0;
  cu.check(cu.cuDeviceGetAttribute(&major, kCapabilityMajor, handle_), "the kind of " + name_);
  cu.check(cu.cuDeviceGetAttribute(&minor, kCapabilityMinor, handle_), "the kind of " + name_);
  sm_ = 10 * major + minor;
}

Device::~Device() {
  if (context_ != nullptr) library_->cuDevicePrimaryCtxRelease_v2(handle_);
}

sdk::DeviceRow Device::row() const {
  constexpr uint64_t kAlign = 256;  // of cuMemAlloc
  return {.device = {kDLCUDA, number_},
          .name = name_,
          .align = kAlign,
          .bytes = bytes_,
          .capabilities = "{\"driver\":\"" + version_text(library_->version()) +
                          "\",\"sm\":" + std::to_string(sm_) + "}"};
}

CUcontext Device::context() const {
  std::lock_guard lock(mutex_);
  if (context_ == nullptr)
    library_->check(library_->cuDevicePrimaryCtxRetain(&context_, handle_),
                    "making a context of " + name_);
  return context_;
}

Device::Current::Current(const Device& device) : library_(device.library()) {
  library_.check(library_.cuCtxPushCurrent_v2(device.context()), "using " + device.name_);
}

Device::Current::~Current() {
  CUcontext before = nullptr;
  library_.cuCtxPopCurrent_v2(&before);
}

void* Device::allocate(uint64_t bytes) const {
  const Current current(*this);
  CUdeviceptr out = 0;
  const CUresult result = library_->cuMemAlloc_v2(&out, bytes);
  if (result == kOutOfMemory) return nullptr;
  library_->check(result, "allocating " + std::to_string(bytes) + " bytes on " + name_);
  return reinterpret_cast<void*>(out);
}

void Device::release(void* memory) const noexcept {
  try {
    const Current current(*this);
    library_->cuMemFree_v2(address(memory));
  } catch (const sdk::Error&) {  // the device is gone, and its memory with it
  }
}

// On the null stream of the driver a copy would wait for all others: it gets one of its own.
void Device::copy(const byoc_copy& copy, CUstream stream) const {
  const Current current(*this);
  const Library& cu = *library_;
  CUstream own = stream;
  if (stream == nullptr) cu.check(cu.cuStreamCreate(&own, kStreamNonBlocking), "making a stream");
  CUresult result = kSuccess;
  if (copy.src_device.device_type == kDLCPU)
    result = cu.cuMemcpyHtoDAsync_v2(address(copy.dst), copy.src, copy.bytes, own);
  else if (copy.dst_device.device_type == kDLCPU)
    result = cu.cuMemcpyDtoHAsync_v2(copy.dst, address(copy.src), copy.bytes, own);
  else result = cu.cuMemcpyDtoDAsync_v2(address(copy.dst), address(copy.src), copy.bytes, own);
  if (stream == nullptr) {
    if (result == kSuccess) result = cu.cuStreamSynchronize(own);
    cu.cuStreamDestroy_v2(own);
  }
  cu.check(result, "copying " + std::to_string(copy.bytes) + " bytes");
}

}  // namespace byoc::cuda
