// SPDX-License-Identifier: Apache-2.0
#pragma once
// The texts of minisign: public keys, and detached signatures.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "byoc/base/status.h"

namespace byoc::minisign {

using KeyId = std::array<uint8_t, 8>;

/// A public key of Ed25519.
struct PublicKey {
  KeyId id{};
  std::array<uint8_t, 32> key{};
};
/// Reads the text of a key's file, or the key alone: 56 characters that begin with RW. Errors: what
/// is wrong with it.
Result<PublicKey> parse_key(std::string_view text);

/// A detached signature.
struct Signature {
  bool is_hashed = false;  // of the BLAKE2b hash of the file, which is minisign's default
  KeyId id{};
  std::array<uint8_t, 64> of_file{}, of_comment{};
  std::string comment;  // the trusted one: it is signed, too
};
/// Reads the text of a .minisig file. Errors: what is wrong with it.
Result<Signature> parse_signature(std::string_view text);

/// Returns the id as minisign prints it: 16 hexadecimal digits.
std::string hex(const KeyId& id);

}  // namespace byoc::minisign
