// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs of kernels of a device, with tensors of the host.
#include <span>

#include "core/conform/context/loaded_plugin.h"

namespace byoc::conform {

/// Calls `run`. For a kernel of a device, which has compact tensors, it copies them there, waits
/// for the work, and copies the outputs back. Errors: those of the slots.
Status run_kernel(const LoadedPlugin& tested, const LoadedModule::Kernel& kernel, uint32_t n_in,
                  const byoc_call& call);

/// Copies the constants that kernels of the module read on a device; `buffers`: all of them.
/// Errors: those of the slots.
Result<DeviceConstants> constants_there(const LoadedPlugin& tested, const ExternalModule& module,
                                        std::span<const std::shared_ptr<const Buffer>> buffers);

}  // namespace byoc::conform
