// SPDX-License-Identifier: Apache-2.0
#pragma once
// Messages between this process and one that runs a plugin: numbers, texts and bytes in order.
#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace byoc::isolate {

/// A message that is being written.
class Writer {
 public:
  void number(uint64_t value);
  void text(std::string_view text);
  /// Appends bytes at a multiple of 64. They are borrowed: they live until the message is sent.
  void bytes(std::span<const std::byte> bytes);
  /// Appends the bytes of a struct without pointers. Both processes are of one build.
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void plain(const T& value) { text({reinterpret_cast<const char*>(&value), sizeof value}); }

  uint64_t size() const { return size_; }
  /// Returns the parts of the message in order; valid until the next call that appends.
  std::vector<std::span<const std::byte>> pieces() const;

 private:
  std::string& tail();
  struct Piece {
    std::string own;
    std::span<const std::byte> borrowed;
  };
  std::deque<Piece> pieces_;
  uint64_t size_ = 0;
};

/// Bytes of a message that arrived, with what keeps them alive.
struct Message {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

/// Reads a message. A plugin may have damaged the process that sent it: after a read outside of the
/// message, ok() is false and all reads give zeros.
class Reader {
 public:
  explicit Reader(Message message) : message_(std::move(message)) {}
  uint64_t number();
  std::string text();
  std::string_view view();
  std::span<const std::byte> bytes();
  /// Reads the number of items that follow, each of which has at least one byte.
  size_t count();
  template <class T>
  requires std::is_trivially_copyable_v<T> T plain() {
    T value{};
    const std::string_view from = view();
    if (from.size() == sizeof value) std::copy_n(from.data(), sizeof value, bytes_of(value));
    else fail();
    return value;
  }
  bool ok() const { return ok_; }
  void fail() { ok_ = false; }
  const std::shared_ptr<const void>& owner() const { return message_.owner; }

 private:
  template <class T>
  static char* bytes_of(T& value) {
    return reinterpret_cast<char*>(&value);
  }
  std::span<const std::byte> take(uint64_t n);
  Message message_;
  uint64_t at_ = 0;
  bool ok_ = true;
};

}  // namespace byoc::isolate
