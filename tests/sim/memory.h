// SPDX-License-Identifier: Apache-2.0
#pragma once
// The memory of a simulated device: one file in memory, mapped twice. The host is given addresses
// of the first mapping, where every access is a fault. Kernels and copies use the second one.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>

namespace sim {

class Memory {
 public:
  explicit Memory(uint64_t bytes) : bytes_(bytes) {
    const int file = ::memfd_create("sim", MFD_CLOEXEC);
    if (file < 0 || ::ftruncate(file, static_cast<off_t>(bytes)) != 0) return;
    device_ = map(file, PROT_NONE);
    alias_ = map(file, PROT_READ | PROT_WRITE);
    ::close(file);
    if (is_mapped()) free_[0] = bytes;
  }
  ~Memory() {
    if (device_ != nullptr) ::munmap(device_, bytes_);
    if (alias_ != nullptr) ::munmap(alias_, bytes_);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  bool is_mapped() const { return device_ != nullptr && alias_ != nullptr; }
  bool contains(const void* p) const {
    const auto* at = static_cast<const char*>(p);
    return at >= device_ && at < device_ + bytes_;
  }
  /// Returns the address at which kernels use the byte.
  char* alias(const void* p) const { return alias_ + (static_cast<const char*>(p) - device_); }

  /// Returns null when memory is short. The first range that is large enough is used.
  void* allocate(uint64_t n, uint64_t align) {
    n = (n + align - 1) / align * align;
    std::lock_guard lock(mutex_);
    for (auto [at, size] : free_) {
      const uint64_t begin = (at + align - 1) / align * align;
      if (begin + n > at + size) continue;
      free_.erase(at);
      if (begin > at) free_[at] = begin - at;
      if (begin + n < at + size) free_[begin + n] = at + size - begin - n;
      used_[begin] = n;
      std::memset(alias_ + begin, 0xff, n);  // NaN
      return device_ + begin;
    }
    return nullptr;
  }
  void release(void* p) {
    std::lock_guard lock(mutex_);
    const auto used = used_.find(static_cast<uint64_t>(static_cast<char*>(p) - device_));
    if (used == used_.end()) return;
    auto [at, size] = *used;
    used_.erase(used);
    if (auto next = free_.find(at + size); next != free_.end()) {
      size += next->second;
      free_.erase(next);
    }
    auto before = free_.lower_bound(at);
    if (before != free_.begin() && (--before)->first + before->second == at) before->second += size;
    else free_[at] = size;
  }
  uint64_t ranges_in_use() {
    std::lock_guard lock(mutex_);
    return used_.size();
  }

 private:
  char* map(int file, int access) const {
    void* at = ::mmap(nullptr, bytes_, access, MAP_SHARED | MAP_NORESERVE, file, 0);
    return at == MAP_FAILED ? nullptr : static_cast<char*>(at);
  }
  const uint64_t bytes_;
  char *device_ = nullptr, *alias_ = nullptr;
  std::mutex mutex_;
  std::map<uint64_t, uint64_t> free_, used_;  // sizes by offsets
};

}  // namespace sim
