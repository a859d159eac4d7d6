// SPDX-License-Identifier: Apache-2.0
#include "plugins/cuda/driver/library.h"

#include <dlfcn.h>

namespace byoc::cuda {
namespace {

[[noreturn]] void unavailable(const std::string& why) { throw sdk::Error(BYOC_UNAVAILABLE, why); }

/// A result of the driver, and what it means for a user.
struct Meaning {
  CUresult result;
  uint32_t code;
  const char* text;
};
constexpr Meaning kMeanings[] = {
    {kOutOfMemory, BYOC_RESOURCE_EXHAUSTED,
     "the device has no memory left: use a smaller batch, or end other programs that use it"},
    {kNoDevice, BYOC_UNAVAILABLE, "there is no device: see `nvidia-smi` and CUDA_VISIBLE_DEVICES"},
    {kNoBinaryForGpu, BYOC_FAILED_PRECONDITION,
     "the code is for a newer device: compile with a lower --plugin-option cuda.sm"},
    {kInvalidPtx, BYOC_FAILED_PRECONDITION, "the driver refuses the code"},
    {kUnsupportedPtx, BYOC_FAILED_PRECONDITION,
     "the code is for a newer driver: update the driver, or compile with a lower cuda.sm"},
    {kIllegalAddress, BYOC_UNAVAILABLE,
     "a kernel accessed memory that is not its own; the device is lost to this process"},
    {kLaunchOutOfResources, BYOC_RESOURCE_EXHAUSTED,
     "a kernel needs more than a multiprocessor has"},
    {kLaunchTimeout, BYOC_UNAVAILABLE,
     "a kernel ran longer than the driver allows; the device is lost to this process"},
    {kLaunchFailed, BYOC_UNAVAILABLE, "a kernel failed; the device is lost to this process"},
    {kSystemNotReady, BYOC_UNAVAILABLE,
     "the driver is not ready: is nvidia-fabricmanager running?"},
};
constexpr CUresult kFirstLost = 700, kLastLost = 721;  // errors after which a context is unusable

}  // namespace

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

void Library::fail(CUresult result, const std::string& what) const {
  const char* name = nullptr;
  if (cuGetErrorName == nullptr || cuGetErrorName(result, &name) != kSuccess || name == nullptr)
    name = "an unknown error";
  const bool is_lost = (result >= kFirstLost && result <= kLastLost) || result == kUnknown;
  uint32_t code = is_lost ? BYOC_UNAVAILABLE : BYOC_INTERNAL;
  std::string text = is_lost ? "the device is lost to this process" : "";
  for (const Meaning& meaning : kMeanings) {
    if (meaning.result != result) continue;
    code = meaning.code;
    text = meaning.text;
  }
  throw sdk::Error(code, what + ": " + name + " (" + std::to_string(result) + ")" +
                             (text.empty() ? "" : ": " + text));
}

std::shared_ptr<const Library> Library::open(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    unavailable(path +
                ", NVIDIA's driver, cannot be opened: install the driver of the graphics "
                "card (Debian: nvidia-driver), in a container with its runtime");
  std::shared_ptr<Library> out(new Library());
  std::string missing;
#define BYOC_CUDA_FIND(name, type)                                              \
  out->name = reinterpret_cast<std::add_pointer_t<type>>(dlsym(handle, #name)); \
  if (out->name == nullptr && missing.empty()) missing = #name;
  BYOC_CUDA_ENTRY_POINTS(BYOC_CUDA_FIND)
#undef BYOC_CUDA_FIND
  const std::string cure = "at least " + version_text(kLeastVersion) +
                           " is needed: update the driver of the graphics card";
  if (out->cuDriverGetVersion != nullptr) out->cuDriverGetVersion(&out->version_);
  if (out->version_ > 0 && out->version_ < kLeastVersion)
    unavailable("NVIDIA's driver is for CUDA " + version_text(out->version_) + ", " + cure);
  if (!missing.empty()) unavailable("NVIDIA's driver " + path + " has no " + missing + ", " + cure);
  const CUresult result = out->cuInit(0);
  if (result != kSuccess) {
    try {
      out->fail(result, "NVIDIA's driver cannot be initialised");
    } catch (const sdk::Error& error) {
      unavailable(error.message());
    }
  }
  return out;
}

}  // namespace byoc::cuda
