// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory of the pretended device: addresses that the host cannot access.
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace fake_cuda {

/// Thread-safe, except for the contents.
class Memory {
 public:
  explicit Memory(uint64_t limit) : limit_(limit) {}
  /// Returns 0 when the memory is used up. New memory is NaN.
  uint64_t allocate(uint64_t bytes);
  /// Makes `host` accessible at an address of the device.
  uint64_t map(void* host, uint64_t bytes);
  bool release(uint64_t address);
  void unmap(const void* host);
  /// Returns where the bytes are; null for what no allocation has.
  unsigned char* find(uint64_t address, uint64_t bytes);

 private:
  struct Block {
    uint64_t bytes;
    unsigned char* at;
    std::vector<unsigned char> own;
  };
  uint64_t add(uint64_t bytes, unsigned char* at, std::vector<unsigned char> own);
  std::mutex mutex_;
  std::map<uint64_t, Block> blocks_;
  uint64_t next_ = uint64_t{1} << 44, limit_, used_ = 0;
};

}  // namespace fake_cuda
