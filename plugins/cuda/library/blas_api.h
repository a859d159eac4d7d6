// SPDX-License-Identifier: Apache-2.0
#pragma once
// The functions of cuBLASLt that the plugin calls, declared by ourselves.
// Source: "cuBLAS Library", Using the cuBLASLt API, versions 11.0 to 13.0, and its data types.
#include <cstddef>
#include <cstdint>

#include "plugins/cuda/driver/api.h"

namespace byoc::cuda::blas {

using StatusNumber = int32_t;
struct HandleOf;
struct DescriptorOf;
struct LayoutOf;
struct PreferenceOf;
using Handle = HandleOf*;
using Descriptor = DescriptorOf*;  // of a product
using Layout = LayoutOf*;          // of a matrix
using Preference = PreferenceOf*;

struct Algorithm {
  uint64_t data[8];
};
struct Choice {  // cublasLtMatmulHeuristicResult_t
  Algorithm algorithm;
  size_t workspace_bytes;
  StatusNumber status;
  float waves;
  int32_t reserved[4];
};
static_assert(sizeof(Choice) == 96);

enum : StatusNumber {
  kDone = 0,
  kNotInitialised = 1,
  kAllocFailed = 3,
  kWrongValue = 7,
  kArchMismatch = 8,
  kMappingError = 11,
  kExecutionFailed = 13,
  kInternalError = 14,
  kNotSupported = 15
};
enum : int32_t {
  // cudaDataType
  kR32F = 0,
  kR64F = 1,
  kR16F = 2,
  kR16BF = 14,
  // cublasComputeType_t: sums of f32 without TF32, and of f64
  kCompute32F = 68,
  kCompute64F = 70,
  // cublasLtMatmulDescAttributes_t
  kTransposeA = 3,
  kTransposeB = 4,
  // cublasLtMatrixLayoutAttribute_t
  kBatchCount = 5,
  kBatchDistance = 6,
  // cublasLtMatmulPreferenceAttributes_t
  kMostWorkspace = 1,
  kAlignmentA = 5,
  kAlignmentB = 6,
  kAlignmentC = 7,
  kAlignmentD = 8,
  // cublasOperation_t
  kAsItIs = 0,
  kTransposed = 1
};

/// X(name, type of the function): the table of entry points.
#define BYOC_CUBLASLT_ENTRY_POINTS(X)                                                             \
  X(cublasLtGetVersion, size_t())                                                                 \
  X(cublasLtCreate, StatusNumber(Handle*))                                                        \
  X(cublasLtDestroy, StatusNumber(Handle))                                                        \
  X(cublasLtMatmulDescCreate, StatusNumber(Descriptor*, int32_t, int32_t))                        \
  X(cublasLtMatmulDescDestroy, StatusNumber(Descriptor))                                          \
  X(cublasLtMatmulDescSetAttribute, StatusNumber(Descriptor, int32_t, const void*, size_t))       \
  X(cublasLtMatrixLayoutCreate, StatusNumber(Layout*, int32_t, uint64_t, uint64_t, int64_t))      \
  X(cublasLtMatrixLayoutDestroy, StatusNumber(Layout))                                            \
  X(cublasLtMatrixLayoutSetAttribute, StatusNumber(Layout, int32_t, const void*, size_t))         \
  X(cublasLtMatmulPreferenceCreate, StatusNumber(Preference*))                                    \
  X(cublasLtMatmulPreferenceDestroy, StatusNumber(Preference))                                    \
  X(cublasLtMatmulPreferenceSetAttribute, StatusNumber(Preference, int32_t, const void*, size_t)) \
  X(cublasLtMatmulAlgoGetHeuristic, StatusNumber(Handle, Descriptor, Layout, Layout, Layout,      \
                                                 Layout, Preference, int32_t, Choice*, int32_t*)) \
  X(cublasLtMatmul, StatusNumber(Handle, Descriptor, const void*, const void*, Layout,            \
                                 const void*, Layout, const void*, const void*, Layout, void*,    \
                                 Layout, const Algorithm*, void*, size_t, CUstream))

}  // namespace byoc::cuda::blas
