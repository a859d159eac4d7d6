// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loops that read memory as fast as a core can.
#include <cstddef>
#include <cstdint>

namespace byoc::machine {

inline constexpr size_t kLine = 64;  // bytes of a line of a cache

/// Reads all of `bytes` bytes, a multiple of 1024 at a line's address, with the widest registers.
/// Returns a sum that depends on them.
uint64_t read_all(const char* data, size_t bytes);
/// Reads a word of each line.
uint64_t read_lines(const char* data, size_t bytes);

}  // namespace byoc::machine
