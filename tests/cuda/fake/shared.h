// SPDX-License-Identifier: Apache-2.0
#pragma once
// The memory and the streams of the pretended driver, for pretended libraries.
#include <cstdint>
#include <functional>

namespace fake_cuda {

/// Returns where bytes of the device are; null for what no allocation has.
__attribute__((visibility("default"))) unsigned char* find_memory(uint64_t address, uint64_t bytes);
/// Adds work to a stream. It returns 0, or an error after which the device is lost.
__attribute__((visibility("default"))) void add_work(void* stream, std::function<int()> work);

}  // namespace fake_cuda
