// SPDX-License-Identifier: Apache-2.0
#include "byoc/base/buffer.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "byoc/base/memory.h"

namespace byoc {

std::string ContentKey::hex() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(32);
  for (uint8_t byte : bytes) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

bool ContentKey::parse(const std::string& hex, ContentKey& out) {
  if (hex.size() != 32) return false;
  auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  for (size_t k = 0; k < 16; ++k) {
    int high = digit(hex[2 * k]), low = digit(hex[2 * k + 1]);
    if (high < 0 || low < 0) return false;
    out.bytes[k] = static_cast<uint8_t>(high << 4 | low);
  }
  return true;
}

ContentKey content_key(std::span<const std::byte> bytes) {
  static const char kNothing = 0;  // an empty span may carry a null pointer
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(
      &canonical, XXH3_128bits(bytes.empty() ? &kNothing : static_cast<const void*>(bytes.data()),
                               bytes.size()));
  ContentKey key;
  std::memcpy(key.bytes.data(), canonical.digest, 16);
  return key;
}

std::shared_ptr<std::byte> Buffer::allocate(size_t size) {
  if (auto spilled = spilled_memory(size)) return spilled;
  void* memory = aligned_memory(size, kAlignment);
  if (memory == nullptr) throw std::bad_alloc();
  return {static_cast<std::byte*>(memory), [](std::byte* p) { std::free(p); }};
}

std::shared_ptr<const Buffer> Buffer::copy(std::span<const std::byte> bytes) {
  return make(bytes.size(), [&](std::byte* to) {
    if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  });
}

std::shared_ptr<const Buffer> Buffer::adopt(std::span<const std::byte> bytes,
                                            std::shared_ptr<const void> owner) {
  if (reinterpret_cast<uintptr_t>(bytes.data()) % kAlignment != 0) return copy(bytes);
  const ContentKey key = content_key(bytes);
  release_spilled(bytes);
  return adopt_keyed(bytes, std::move(owner), key);
}

std::shared_ptr<const Buffer> Buffer::adopt_keyed(std::span<const std::byte> bytes,
                                                  std::shared_ptr<const void> owner,
                                                  const ContentKey& key) {
  auto buffer = std::make_shared<Buffer>();
  buffer->bytes_ = bytes;
  buffer->owner_ = std::move(owner);
  buffer->key_ = key;
  return buffer;
}

std::shared_ptr<const Buffer> Buffer::adopt_unverified(std::span<const std::byte> bytes,
                                                       std::shared_ptr<const void> owner,
                                                       const ContentKey& key) {
  auto buffer = adopt_keyed(bytes, std::move(owner), key);
  buffer->check_ = kUnknown;
  return buffer;
}

/// The memory of a buffer of make_later, which cannot be accessed before it is filled.
struct LaterFill {
  LaterFill(size_t bytes, std::function<void(std::span<std::byte>)> write)
      : size(bytes), fill(std::move(write)) {
    if (size == 0) return;
    void* reserved = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (reserved == MAP_FAILED) throw std::bad_alloc();
    memory = static_cast<std::byte*>(reserved);
  }
  ~LaterFill() {
    if (memory != nullptr) ::munmap(memory, size);
  }
  LaterFill(const LaterFill&) = delete;
  LaterFill& operator=(const LaterFill&) = delete;
  /// Returns whether the memory can be read.
  bool write() {
    std::call_once(once, [this] {
      is_there = size == 0 || ::mprotect(memory, size, PROT_READ | PROT_WRITE) == 0;
      if (is_there) fill({memory, size});
      fill = nullptr;  // frees what it was made of
    });
    return is_there;
  }
  size_t size;
  std::byte* memory = nullptr;
  std::function<void(std::span<std::byte>)> fill;
  std::once_flag once;
  bool is_there = false;
};

std::shared_ptr<const Buffer> Buffer::make_later(size_t size, const ContentKey& key,
                                                 std::function<void(std::span<std::byte>)> fill) {
  auto later = std::make_shared<LaterFill>(size, std::move(fill));
  auto buffer = std::make_shared<Buffer>();
  buffer->bytes_ = {later->memory, size};
  buffer->key_ = key;
  buffer->later_ = std::move(later);
  buffer->check_ = kUnknown;
  return buffer;
}

bool Buffer::verify() const {
  if (check_ == kUnknown && later_ != nullptr && !later_->write()) return false;
  if (check_ == kUnknown) check_ = content_key(bytes_) == key_ ? kRight : kWrong;
  return check_ == kRight;
}

}  // namespace byoc
