// SPDX-License-Identifier: Apache-2.0
#pragma once
// The C ABI of ONNX Runtime as far as the provider and the plugin use it: handles without contents,
// numbers, and the tables that a provider fills. Source: the documented interface of ONNX Runtime
// 1.23, which later versions extend at the ends of its tables. The declarations are our own.
#include <cstddef>
#include <cstdint>

namespace byoc::ort {

inline constexpr const char* kProviderName = "byoc";

// Handles. ONNX Runtime makes them and gives them out as pointers.
struct OrtStatus;
struct OrtApi;    // a table of functions, read by slots.h
struct OrtEpApi;  // likewise
struct OrtModelEditorApi;
struct OrtEnv;
struct OrtSession;
struct OrtRunOptions;
struct OrtMemoryInfo;
struct OrtLogger;
struct OrtSessionOptions;
struct OrtKeyValuePairs;
struct OrtHardwareDevice;
struct OrtEpDevice;
struct OrtEpGraphSupportInfo;
struct OrtNodeComputeContext;
struct OrtKernelContext;
struct OrtGraph;
struct OrtNode;
struct OrtValueInfo;
struct OrtOpAttr;
struct OrtTypeInfo;
struct OrtTensorInfo;
struct OrtValue;

/// The table of a process's ONNX Runtime. `get_api` returns null for a version newer than it.
struct OrtApiBase {
  const OrtApi* (*get_api)(uint32_t version);
  const char* (*version_text)();
};

/// The version of the interface that the tables below are of, ONNX Runtime 1.23. Newer libraries
/// read it in each table and use nothing beyond it.
inline constexpr uint32_t kOrtApiVersion = 23;

inline constexpr int kOrtFail = 1;             ///< OrtErrorCode: a failure
inline constexpr int kOrtInvalidArgument = 2;  ///< OrtErrorCode: a wrong argument
inline constexpr int kOrtEpFail = 11;          ///< OrtErrorCode: a failure of a provider
inline constexpr int kOrtInfo = 1;             ///< OrtLoggingLevel: information
inline constexpr int kOrtWarning = 2;          ///< OrtLoggingLevel: a warning
inline constexpr int kOrtFatal = 4;            ///< OrtLoggingLevel: what ends the process
inline constexpr int kOrtCpu = 0;              ///< OrtHardwareDeviceType: a processor
inline constexpr int kOrtTensor = 1;           ///< ONNXType: a tensor
inline constexpr int kOrtDeviceAllocator = 0;  ///< OrtAllocatorType: the usual one
inline constexpr int kOrtDefaultMemory = 0;    ///< OrtMemType: the usual one
inline constexpr int kOrtAsWritten = 0;        ///< GraphOptimizationLevel: no changes of the graph
inline constexpr int kOrtAllChanges = 99;      ///< GraphOptimizationLevel: all of them

/// OrtOpAttrType: the kinds of attributes.
enum class OrtAttribute : int {
  kNone,
  kInt,
  kInts,
  kFloat,
  kFloats,
  kString,
  kStrings,
  kGraph,
  kTensor,
};

/// Options of a group of nodes that becomes one.
struct OrtNodeFusionOptions {
  uint32_t version;
  bool drop_constants;  ///< the group needs no constants when it runs
};

/// The functions of a compiled group; filled by the provider.
struct OrtNodeComputeInfo {
  uint32_t version;
  OrtStatus* (*create_state)(OrtNodeComputeInfo*, OrtNodeComputeContext*, void** state);
  OrtStatus* (*compute)(OrtNodeComputeInfo*, void* state, OrtKernelContext*);
  void (*release_state)(OrtNodeComputeInfo*, void* state);
};

using OrtUnused = void (*)();

/// A provider in one session; filled by the provider. The last members are optional ones of
/// version 23, which are left null.
struct OrtEp {
  uint32_t version;
  const char* (*name)(const OrtEp*);
  OrtStatus* (*get_capability)(OrtEp*, const OrtGraph*, OrtEpGraphSupportInfo*);
  OrtStatus* (*compile)(OrtEp*, const OrtGraph** graphs, const OrtNode** fused, size_t count,
                        OrtNodeComputeInfo** infos, OrtNode** contexts);
  void (*release_infos)(OrtEp*, OrtNodeComputeInfo** infos, size_t count);
  OrtUnused optional[8];
};

/// The maker of providers; filled by the provider.
struct OrtEpFactory {
  uint32_t version;
  const char* (*name)(const OrtEpFactory*);
  const char* (*vendor)(const OrtEpFactory*);
  OrtStatus* (*get_devices)(OrtEpFactory*, const OrtHardwareDevice* const* devices, size_t count,
                            OrtEpDevice** found, size_t most, size_t* n_found);
  OrtStatus* (*create_ep)(OrtEpFactory*, const OrtHardwareDevice* const* devices,
                          const OrtKeyValuePairs* const* metadata, size_t count,
                          const OrtSessionOptions*, const OrtLogger*, OrtEp** ep);
  void (*release_ep)(OrtEpFactory*, OrtEp*);
  uint32_t (*vendor_id)(const OrtEpFactory*);
  const char* (*provider_version)(const OrtEpFactory*);
  OrtStatus* (*check_compiled)(OrtEpFactory*, const OrtHardwareDevice* const* devices, size_t count,
                               const char* info, int* compatibility);
  OrtStatus* (*create_allocator)(OrtEpFactory*, const void* memory, const OrtKeyValuePairs*,
                                 void** allocator);
  void (*release_allocator)(OrtEpFactory*, void* allocator);
  OrtStatus* (*create_data_transfer)(OrtEpFactory*, void** transfer);
  bool (*has_streams)(const OrtEpFactory*);
  OrtStatus* (*create_stream)(OrtEpFactory*, const void* device, const OrtKeyValuePairs*,
                              void** stream);
};

}  // namespace byoc::ort
