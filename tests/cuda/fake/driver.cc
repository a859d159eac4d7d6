// SPDX-License-Identifier: Apache-2.0
// The entry points of libcuda that the plugin calls, for a pretended device: kernels are PTX that
// is interpreted. Streams are threads. Environment variables make it fail:
//   FAKE_CUDA_VERSION=10020     the driver's version        FAKE_CUDA_DEVICES=0   none
//   FAKE_CUDA_MEMORY_MIB=1      memory of the device        FAKE_CUDA_SM=75       its kind
//   FAKE_CUDA_HANG=1            the first launch never ends FAKE_CUDA_FAULT=1     it fails
//   FAKE_CUDA_INIT=802          the result of cuInit        FAKE_CUDA_COPY=700    of copies
//   FAKE_CUDA_CONTEXT=2         the result of making a context
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "fake/shared.h"
#include "fake/stream.h"
#include "fake/thread.h"

namespace fake_cuda {
namespace {

int64_t number_of(const char* name, int64_t usual) {
  const char* text = std::getenv(name);
  return text == nullptr ? usual : std::atoll(text);
}

enum : int {
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNoDevice = 100,
  kInvalidContext = 201,
  kNoBinary = 209,
  kInvalidPtx = 218,
  kUnsupportedPtx = 222,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchFailed = 719,
  kNotReadySystem = 802
};

struct Driver {
  Memory memory{static_cast<uint64_t>(number_of("FAKE_CUDA_MEMORY_MIB", 4096)) << 20};
  std::atomic<int> launches{0};
  std::atomic<int> error{0};  // after which the context is unusable
};
Driver& driver() {
  static Driver* one = new Driver();  // streams may outlive static variables
  return *one;
}
thread_local int current = 0;  // contexts pushed

struct Function {
  const Module* module;
  const Kernel* kernel;
};
struct LoadedModule {
  std::unique_ptr<Module> module;
  std::vector<std::unique_ptr<Function>> functions;
};

int usable() {
  if (driver().error != 0) return driver().error;
  return current > 0 ? 0 : kInvalidContext;
}

int copy_work(void* to_host, uint64_t to, const void* from_host, uint64_t from, uint64_t n) {
  unsigned char* there =
      to_host != nullptr ? static_cast<unsigned char*>(to_host) : driver().memory.find(to, n);
  const unsigned char* here = from_host != nullptr ? static_cast<const unsigned char*>(from_host)
                                                   : driver().memory.find(from, n);
  if (there == nullptr || here == nullptr) return driver().error = kIllegalAddress;
  if (const auto wrong = static_cast<int>(number_of("FAKE_CUDA_COPY", 0)); wrong != 0)
    return driver().error = wrong;
  std::memmove(there, here, n);
  return 0;
}

int launch_work(const Function& function, uint32_t groups, uint32_t threads,
                const std::vector<uint64_t>& parameters, const std::atomic<bool>& is_dropped) {
  const int number = ++driver().launches;
  if (number == number_of("FAKE_CUDA_FAULT", 0)) return driver().error = kLaunchFailed;
  while (number == number_of("FAKE_CUDA_HANG", 0) && !is_dropped) Stream::sleep();
  try {
    run_grid(*function.module, *function.kernel, driver().memory, groups, threads, parameters);
  } catch (const std::out_of_range& error) {
    std::fprintf(stderr, "fake cuda: kernel %s: %s\n", function.kernel->name.c_str(), error.what());
    return driver().error = kIllegalAddress;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fake cuda: kernel %s: %s\n", function.kernel->name.c_str(), error.what());
    return driver().error = kLaunchFailed;
  }
  return 0;
}

}  // namespace

unsigned char* find_memory(uint64_t address, uint64_t bytes) {
  return driver().memory.find(address, bytes);
}

void add_work(void* stream, std::function<int()> work) {
  static_cast<Stream*>(stream)->enqueue([work = std::move(work)](auto&) {
    if (const int wrong = work(); wrong != 0) driver().error = wrong;
    return 0;
  });
}

}  // namespace fake_cuda

using namespace fake_cuda;
#define ENTRY extern "C" __attribute__((visibility("default"))) int

ENTRY cuInit(uint32_t) {
  const bool has_none = number_of("FAKE_CUDA_DEVICES", 1) == 0;
  return has_none ? kNoDevice : static_cast<int>(number_of("FAKE_CUDA_INIT", 0));
}
ENTRY cuDriverGetVersion(int* out) {
  return *out = static_cast<int>(number_of("FAKE_CUDA_VERSION", 12040)), 0;
}
ENTRY cuGetErrorName(int error, const char** out) {
  static const std::map<int, const char*> kNames = {
      {kInvalidValue, "CUDA_ERROR_INVALID_VALUE"},
      {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY"},
      {kNoDevice, "CUDA_ERROR_NO_DEVICE"},
      {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT"},
      {kInvalidPtx, "CUDA_ERROR_INVALID_PTX"},
      {kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {kNoBinary, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
      {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED"},
      {kNotReadySystem, "CUDA_ERROR_SYSTEM_NOT_READY"}};
  const auto known = kNames.find(error);
  *out = known == kNames.end() ? "CUDA_ERROR_UNKNOWN" : known->second;
  return 0;
}
ENTRY cuDeviceGetCount(int* out) {
  return *out = static_cast<int>(number_of("FAKE_CUDA_DEVICES", 1)), 0;
}
ENTRY cuDeviceGet(int* out, int number) { return *out = number, 0; }
ENTRY cuDeviceGetName(char* out, int n, int) {
  return std::snprintf(out, static_cast<size_t>(n), "Fake GPU"), 0;
}
ENTRY cuDeviceTotalMem_v2(size_t* out, int) { return *out = size_t{4} << 30, 0; }
ENTRY cuDeviceGetAttribute(int* out, int which, int) {
  const auto sm = static_cast<int>(number_of("FAKE_CUDA_SM", 90));
  *out = which == 75 ? sm / 10 : which == 76 ? sm % 10 : 4;
  return 0;
}
ENTRY cuDevicePrimaryCtxRetain(void** out, int) {
  return *out = &driver(), static_cast<int>(number_of("FAKE_CUDA_CONTEXT", 0));
}
ENTRY cuDevicePrimaryCtxRelease_v2(int) { return 0; }
ENTRY cuCtxPushCurrent_v2(void*) { return ++current, 0; }
ENTRY cuCtxPopCurrent_v2(void**) { return --current, 0; }

ENTRY cuModuleLoadDataEx(void** out, const void* text, uint32_t n, int* options, void** values) {
  if (const int error = usable()) return error;
  auto made = std::make_unique<LoadedModule>();
  try {
    made->module = parse(static_cast<const char*>(text));
  } catch (const std::exception& error) {
    for (uint32_t k = 0; k < n; ++k)
      if (options[k] == 5) std::snprintf(static_cast<char*>(values[k]), 1024, "%s", error.what());
    return kInvalidPtx;
  }
  if (made->module->sm > number_of("FAKE_CUDA_SM", 90)) return kNoBinary;
  for (const auto& [name, variable] : made->module->globals) {
    const uint64_t address = driver().memory.allocate(variable.bytes);
    std::memcpy(driver().memory.find(address, variable.bytes), variable.contents.data(),
                variable.bytes);
    made->module->addresses[name] = address;
  }
  *out = made.release();
  return 0;
}
ENTRY cuModuleUnload(void* module) {
  auto* made = static_cast<LoadedModule*>(module);
  for (const auto& [name, address] : made->module->addresses) driver().memory.release(address);
  delete made;
  return 0;
}
ENTRY cuModuleGetFunction(void** out, void* module, const char* name) {
  auto& made = *static_cast<LoadedModule*>(module);
  const auto known = made.module->kernels.find(name);
  if (known == made.module->kernels.end()) return kNotFound;
  made.functions.push_back(
      std::make_unique<Function>(Function{made.module.get(), known->second.get()}));
  *out = made.functions.back().get();
  return 0;
}

ENTRY cuMemAlloc_v2(uint64_t* out, size_t n) {
  if (const int error = usable()) return error;
  *out = n == 0 ? 0 : driver().memory.allocate(n);
  return n == 0 ? kInvalidValue : *out == 0 ? kOutOfMemory : 0;
}
ENTRY cuMemFree_v2(uint64_t address) {
  return driver().memory.release(address) ? 0 : kInvalidValue;
}
ENTRY cuMemHostAlloc(void** out, size_t n, uint32_t) {
  return *out = std::aligned_alloc(4096, (n + 4095) / 4096 * 4096), 0;
}
ENTRY cuMemHostGetDevicePointer_v2(uint64_t* out, void* host, uint32_t) {
  return *out = driver().memory.map(host, 4096), 0;
}
ENTRY cuMemFreeHost(void* host) {
  driver().memory.unmap(host);
  return std::free(host), 0;
}

ENTRY cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t n, void* stream) {
  if (const int error = usable()) return error;
  static_cast<Stream*>(stream)->enqueue([=](auto&) { return copy_work(nullptr, to, from, 0, n); });
  return 0;
}
ENTRY cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t n, void* stream) {
  if (const int error = usable()) return error;
  static_cast<Stream*>(stream)->enqueue([=](auto&) { return copy_work(to, 0, nullptr, from, n); });
  return 0;
}
ENTRY cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t n, void* stream) {
  if (const int error = usable()) return error;
  static_cast<Stream*>(stream)->enqueue(
      [=](auto&) { return copy_work(nullptr, to, nullptr, from, n); });
  return 0;
}
ENTRY cuLaunchKernel(void* function, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx,
                     uint32_t by, uint32_t bz, uint32_t shared, void* stream, void** parameters,
                     void**) {
  if (const int error = usable()) return error;
  const Function known = *static_cast<Function*>(function);
  if (gx == 0 || gy * gz * by * bz != 1 || shared != 0 || bx == 0 ||
      bx > known.kernel->most_threads)
    return kInvalidValue;
  std::vector<uint64_t> values;
  for (uint64_t k = 0; k < known.kernel->parameters; ++k)
    values.push_back(*static_cast<uint64_t*>(parameters[k]));
  static_cast<Stream*>(stream)->enqueue(
      [=](const auto& is_dropped) { return launch_work(known, gx, bx, values, is_dropped); });
  return 0;
}

ENTRY cuStreamCreate(void** out, uint32_t) {
  if (const int error = usable()) return error;
  return *out = new Stream(), 0;
}
ENTRY cuStreamDestroy_v2(void* stream) { return delete static_cast<Stream*>(stream), 0; }
ENTRY cuStreamQuery(void* stream) {
  if (driver().error != 0) return driver().error;
  return static_cast<Stream*>(stream)->is_idle() ? 0 : kNotReady;
}
ENTRY cuStreamSynchronize(void* stream) {
  while (!static_cast<Stream*>(stream)->is_idle()) Stream::sleep();
  return driver().error;
}
ENTRY cuStreamWaitEvent(void* stream, void* event, uint32_t) {
  static_cast<Stream*>(stream)->wait(static_cast<Event*>(event)->mark);
  return 0;
}
ENTRY cuEventCreate(void** out, uint32_t) { return *out = new Event(), 0; }
ENTRY cuEventDestroy_v2(void* event) { return delete static_cast<Event*>(event), 0; }
ENTRY cuEventRecord(void* event, void* stream) {
  static_cast<Event*>(event)->mark = static_cast<Stream*>(stream)->record();
  return 0;
}
ENTRY cuEventQuery(void* event) {
  if (driver().error != 0) return driver().error;
  return static_cast<Event*>(event)->mark->load() ? 0 : kNotReady;
}
