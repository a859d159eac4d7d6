// SPDX-License-Identifier: Apache-2.0
#include "fake/memory.h"

namespace fake_cuda {

constexpr uint64_t kAlign = 256, kGap = 4096;

uint64_t Memory::add(uint64_t bytes, unsigned char* at, std::vector<unsigned char> own) {
  const uint64_t address = next_;
  next_ += (bytes + kGap + kAlign - 1) / kAlign * kAlign;
  Block& block = blocks_[address] = {bytes, at, std::move(own)};
  if (at == nullptr) block.at = block.own.data();
  return address;
}

uint64_t Memory::allocate(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  if (bytes > limit_ - used_) return 0;
  used_ += bytes;
  return add(bytes, nullptr, std::vector<unsigned char>(bytes, 0xff));
}

uint64_t Memory::map(void* host, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  return add(bytes, static_cast<unsigned char*>(host), {});
}

bool Memory::release(uint64_t address) {
  std::lock_guard lock(mutex_);
  const auto found = blocks_.find(address);
  if (found == blocks_.end()) return false;
  used_ -= found->second.own.size();
  blocks_.erase(found);
  return true;
}

void Memory::unmap(const void* host) {
  std::lock_guard lock(mutex_);
  std::erase_if(blocks_, [&](const auto& block) { return block.second.at == host; });
}

unsigned char* Memory::find(uint64_t address, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) return nullptr;
  const auto& [begin, block] = *std::prev(after);
  const uint64_t offset = address - begin;
  return offset <= block.bytes && bytes <= block.bytes - offset ? block.at + offset : nullptr;
}

}  // namespace fake_cuda
