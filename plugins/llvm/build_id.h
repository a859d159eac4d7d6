// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which build of a library runs in this process, whatever its file has become since.
#include <string>

namespace byoc::llvm_plugin {

/// The build id (ELF note NT_GNU_BUILD_ID) of the loaded library or program that contains
/// `address`, in hexadecimal; "" when it has none, or nothing loaded contains the address.
std::string build_id_at(const void* address);

}  // namespace byoc::llvm_plugin
