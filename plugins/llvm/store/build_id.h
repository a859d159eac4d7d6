// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds the build of a library that runs in this process, even when its file was replaced since.
#include <string>

namespace byoc::llvm_plugin {

/// Returns the build id (ELF note NT_GNU_BUILD_ID) of the loaded library or program that contains
/// `address`, in hexadecimal; "" when it has none, or nothing loaded contains the address.
std::string build_id_at(const void* address);

}  // namespace byoc::llvm_plugin
