// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loops whose iterations may run on several threads.
#include <cstddef>
#include <functional>

namespace byoc::llvm_plugin {

/// Calls work(k) for every k below n, from any threads.
using ForEach = std::function<void(size_t n, const std::function<void(size_t)>& work)>;

}  // namespace byoc::llvm_plugin
