// SPDX-License-Identifier: Apache-2.0
#pragma once
// The functions of NVIDIA's driver library libcuda that the plugin calls, declared by ourselves, so
// that it builds without a toolkit and runs with any driver that has them.
// Source: "CUDA Driver API", versions 11.0 to 12.9. A name with _v2 is the form that all of these
// drivers have; the one without is another function.
#include <cstddef>
#include <cstdint>

namespace byoc::cuda {

using CUresult = int32_t;
using CUdevice = int32_t;
using CUdeviceptr = uint64_t;
struct CUctx_st;
struct CUmod_st;
struct CUfunc_st;
struct CUstream_st;
struct CUevent_st;
using CUcontext = CUctx_st*;
using CUmodule = CUmod_st*;
using CUfunction = CUfunc_st*;
using CUstream = CUstream_st*;
using CUevent = CUevent_st*;

/// Results that have meanings of their own here.
enum : CUresult {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNoDevice = 100,
  kNoBinaryForGpu = 209,
  kInvalidPtx = 218,
  kUnsupportedPtx = 222,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kLaunchTimeout = 702,
  kHardwareStackError = 714,
  kLaunchFailed = 719,
  kSystemNotReady = 802,
  kUnknown = 999
};
enum : int32_t {
  kMultiprocessors = 16,  // CUdevice_attribute
  kCapabilityMajor = 75,
  kCapabilityMinor = 76,
  kJitErrorLog = 5,  // CUjit_option
  kJitErrorLogBytes = 6
};
enum : uint32_t { kStreamNonBlocking = 1, kEventDisableTiming = 2, kHostAllocDeviceMap = 2 };

/// X(name, type of the function): the table of entry points.
#define BYOC_CUDA_ENTRY_POINTS(X)                                                          \
  X(cuInit, CUresult(uint32_t))                                                            \
  X(cuDriverGetVersion, CUresult(int*))                                                    \
  X(cuGetErrorName, CUresult(CUresult, const char**))                                      \
  X(cuDeviceGetCount, CUresult(int*))                                                      \
  X(cuDeviceGet, CUresult(CUdevice*, int))                                                 \
  X(cuDeviceGetName, CUresult(char*, int, CUdevice))                                       \
  X(cuDeviceTotalMem_v2, CUresult(size_t*, CUdevice))                                      \
  X(cuDeviceGetAttribute, CUresult(int*, int32_t, CUdevice))                               \
  X(cuDevicePrimaryCtxRetain, CUresult(CUcontext*, CUdevice))                              \
  X(cuDevicePrimaryCtxRelease_v2, CUresult(CUdevice))                                      \
  X(cuCtxPushCurrent_v2, CUresult(CUcontext))                                              \
  X(cuCtxPopCurrent_v2, CUresult(CUcontext*))                                              \
  X(cuModuleLoadDataEx, CUresult(CUmodule*, const void*, uint32_t, int32_t*, void**))      \
  X(cuModuleUnload, CUresult(CUmodule))                                                    \
  X(cuModuleGetFunction, CUresult(CUfunction*, CUmodule, const char*))                     \
  X(cuMemAlloc_v2, CUresult(CUdeviceptr*, size_t))                                         \
  X(cuMemFree_v2, CUresult(CUdeviceptr))                                                   \
  X(cuMemHostAlloc, CUresult(void**, size_t, uint32_t))                                    \
  X(cuMemHostGetDevicePointer_v2, CUresult(CUdeviceptr*, void*, uint32_t))                 \
  X(cuMemFreeHost, CUresult(void*))                                                        \
  X(cuMemcpyHtoDAsync_v2, CUresult(CUdeviceptr, const void*, size_t, CUstream))            \
  X(cuMemcpyDtoHAsync_v2, CUresult(void*, CUdeviceptr, size_t, CUstream))                  \
  X(cuMemcpyDtoDAsync_v2, CUresult(CUdeviceptr, CUdeviceptr, size_t, CUstream))            \
  X(cuStreamCreate, CUresult(CUstream*, uint32_t))                                         \
  X(cuStreamDestroy_v2, CUresult(CUstream))                                                \
  X(cuStreamQuery, CUresult(CUstream))                                                     \
  X(cuStreamSynchronize, CUresult(CUstream))                                               \
  X(cuStreamWaitEvent, CUresult(CUstream, CUevent, uint32_t))                              \
  X(cuEventCreate, CUresult(CUevent*, uint32_t))                                           \
  X(cuEventDestroy_v2, CUresult(CUevent))                                                  \
  X(cuEventRecord, CUresult(CUevent, CUstream))                                            \
  X(cuEventQuery, CUresult(CUevent))                                                       \
  X(cuLaunchKernel, CUresult(CUfunction, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, \
                             uint32_t, uint32_t, CUstream, void**, void**))

}  // namespace byoc::cuda
