// SPDX-License-Identifier: Apache-2.0
#pragma once
// libsodium, opened by name: it is no dependency of those who configure no key.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "byoc/base/status.h"

namespace byoc {

/// The functions of libsodium. Thread-safe.
class Sodium {
 public:
  /// Opens the library once per process. Errors: slug "signature-library".
  static Result<const Sodium*> open();
  /// Returns whether it is the Ed25519 signature of the message by the key.
  bool is_signed(std::span<const uint8_t, 64> signature, std::span<const std::byte> message,
                 std::span<const uint8_t, 32> key) const;
  /// Returns the BLAKE2b hash of 64 bytes.
  std::array<std::byte, 64> blake2b(std::span<const std::byte> message) const;

 private:
  bool load();
  int (*verify_)(const uint8_t*, const std::byte*, unsigned long long, const uint8_t*) = nullptr;
  int (*hash_)(std::byte*, size_t, const std::byte*, unsigned long long, const uint8_t*,
               size_t) = nullptr;
};

}  // namespace byoc
