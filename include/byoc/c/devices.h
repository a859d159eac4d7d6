/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BYOC_C_DEVICES_H
#define BYOC_C_DEVICES_H
/// @file
/// Devices with memory of their own (docs/devices.md): inputs and outputs of byoc_run may be there.
/// The views have the device's DLDevice, and are compact. All functions are of minor 6.
#include "byoc/c/byoc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- devices ---- */

/// A device that a program uses.
typedef struct byoc_used_device {
  const char* plugin;  ///< the id of the plugin that has it; lives as long as the session
  DLDevice device;     ///< for the views of byoc_run
} byoc_used_device;
/// Returns the number of devices that the program uses; 0: all memory is the host's.
BYOC_RUNTIME_API size_t byoc_session_device_count(const byoc_session* session);
/// Errors: BYOC_OUT_OF_RANGE.
BYOC_RUNTIME_API byoc_error* byoc_session_device(const byoc_session* session, size_t k,
                                                 byoc_used_device* out);
/// Returns the device on which kernels read input k, or write output k, so that a run copies
/// nothing of a tensor that is there; -1: the host. A number as in byoc_session_device.
BYOC_RUNTIME_API int32_t byoc_session_input_device(const byoc_session* session, size_t k);
BYOC_RUNTIME_API int32_t byoc_session_output_device(const byoc_session* session, size_t k);

/// Memory on a device. One call at a time uses it. It needs no handle that it was made from.
typedef struct byoc_device_memory byoc_device_memory;
/// Allocates memory on device k of a session. Errors: BYOC_OUT_OF_RANGE; slug "device-memory",
/// "device-lost".
BYOC_RUNTIME_API byoc_error* byoc_device_memory_new(const byoc_session* session, size_t k,
                                                    size_t bytes, byoc_device_memory** out);
/// Returns its address, for DLTensor.data; a multiple of 256. The host cannot read there.
BYOC_RUNTIME_API void* byoc_device_memory_data(const byoc_device_memory* memory);
/// Copies bytes from the host to the begin of the memory, or back. Returns when it is done. Errors:
/// BYOC_OUT_OF_RANGE for more bytes than it has; slug "device-lost".
BYOC_RUNTIME_API byoc_error* byoc_device_memory_write(byoc_device_memory* memory, const void* from,
                                                      size_t bytes);
BYOC_RUNTIME_API byoc_error* byoc_device_memory_read(const byoc_device_memory* memory, void* to,
                                                     size_t bytes);
BYOC_RUNTIME_API void byoc_device_memory_free(byoc_device_memory* memory);

#ifdef __cplusplus
}
#endif
#endif
