// SPDX-License-Identifier: Apache-2.0
#pragma once
// Immutable bytes with a content key, used for weights of any origin. Buffers are shared, never
// copied; two buffers are equal exactly when their bytes are.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace byoc {

/// XXH3-128 of the bytes, big-endian, so that its hex text sorts as the key does.
struct ContentKey {
  std::array<uint8_t, 16> bytes{};  ///< the hash, most significant byte first
  auto operator<=>(const ContentKey&) const = default;
  std::string hex() const;  ///< 32 lower-case digits
  /// Reads what hex() returns; false when `hex` is no key.
  static bool parse(const std::string& hex, ContentKey& out);
};
/// Returns the key of the bytes. Cost: O(bytes).
ContentKey content_key(std::span<const std::byte> bytes);
/// Appends the 32 digits.
inline void print_to(std::string& out, const ContentKey& key) { out.append(key.hex()); }

/// Memory aligned to 64 bytes, or a view of memory that `owner` keeps alive (a mapped file).
/// Immutable after creation, so any number of threads may read it.
class Buffer {
 public:
  static constexpr size_t kAlignment = 64;  ///< the alignment of data(), in bytes
  /// Copies `bytes` to aligned memory.
  static std::shared_ptr<const Buffer> copy(std::span<const std::byte> bytes);
  /// Allocates `size` bytes, which `fill` writes before the key is computed.
  template <class Fill>
  static std::shared_ptr<const Buffer> make(size_t size, Fill&& fill) {
    auto memory = allocate(size);
    fill(memory.get());
    return adopt({memory.get(), size}, std::shared_ptr<const void>(memory));
  }
  /// Makes a view; `owner` lives as long as the buffer. Bytes that are not aligned to 64
  /// are copied.
  static std::shared_ptr<const Buffer> adopt(std::span<const std::byte> bytes,
                                             std::shared_ptr<const void> owner);
  /// Does the same as adopt for bytes whose key the caller has just verified or stored beside them.
  static std::shared_ptr<const Buffer> adopt_keyed(std::span<const std::byte> bytes,
                                                   std::shared_ptr<const void> owner,
                                                   const ContentKey& key);
  /// Does the same as adopt_keyed for bytes that verify() compares with their key when they are
  /// first read.
  static std::shared_ptr<const Buffer> adopt_unverified(std::span<const std::byte> bytes,
                                                        std::shared_ptr<const void> owner,
                                                        const ContentKey& key);
  /// Makes a buffer of `size` bytes that `fill` writes in the first call of verify(), on its
  /// thread. The memory is reserved before, and may be read after it only. Throws std::bad_alloc.
  static std::shared_ptr<const Buffer> make_later(size_t size, const ContentKey& key,
                                                  std::function<void(std::span<std::byte>)> fill);
  /// Returns whether the contents have the key. Computes it in the first call for a buffer of
  /// adopt_unverified or make_later, and in no other. Cost: O(bytes), then O(1).
  bool verify() const;

  /// The contents; they live as long as the Buffer.
  std::span<const std::byte> bytes() const { return bytes_; }
  /// The first byte, aligned to kAlignment.
  const std::byte* data() const { return bytes_.data(); }
  size_t size() const { return bytes_.size(); }   ///< in bytes
  const ContentKey& key() const { return key_; }  ///< the hash of the contents

 private:
  static std::shared_ptr<std::byte> allocate(size_t size);
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
  ContentKey key_;
  std::shared_ptr<struct LaterFill> later_;  // of make_later
  enum Check : uint8_t { kRight, kWrong, kUnknown };
  mutable std::atomic<Check> check_{kRight};
};

}  // namespace byoc
