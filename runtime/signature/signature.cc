// SPDX-License-Identifier: Apache-2.0
#include "runtime/signature/signature.h"

#include <algorithm>
#include <vector>

#include "byoc/base/env.h"
#include "byoc/base/file.h"
#include "runtime/signature/minisign.h"
#include "runtime/signature/sodium.h"

namespace byoc {
namespace {

constexpr size_t kMostBytes = 1 << 16;  // of a key's or a signature's text

/// Reads the keys that the variable names: files, or keys themselves.
Result<std::vector<minisign::PublicKey>> trusted_keys() {
  std::vector<minisign::PublicKey> out;
  const std::string list = env_value("BYOC_TRUSTED_KEYS");
  for (size_t begin = 0; begin < list.size();) {
    const size_t end = std::min(list.find(':', begin), list.size());
    const std::string word = list.substr(begin, end - begin);
    begin = end + 1;
    if (word.empty()) continue;
    auto key = minisign::parse_key(word);
    if (!key.ok()) {
      auto text = read_file(word, kMostBytes);
      if (!text.ok()) return std::move(text.status()).with_slug("signature-key");
      key = minisign::parse_key(*text);
    }
    if (!key.ok()) return std::move(key.status()).at(word).at("BYOC_TRUSTED_KEYS");
    out.push_back(*key);
  }
  return out;
}

Status refused(std::string_view what, const std::string& path) {
  return Status(Code::kUnauthenticated, std::string(what))
      .with_slug("signature")
      .with_help(cat("minisign -S -m ", path, ", with a key of BYOC_TRUSTED_KEYS"))
      .at(path);
}

Status check_by(const minisign::PublicKey& key, const minisign::Signature& signature,
                const std::string& path, std::span<const std::byte> contents) {
  BYOC_TRY(const Sodium* sodium, Sodium::open());
  std::array<std::byte, 64> hash;
  std::span<const std::byte> message = contents;
  if (signature.is_hashed) {
    hash = sodium->blake2b(contents);
    message = hash;
  }
  if (!sodium->is_signed(signature.of_file, message, key.key))
    return refused("the signature is wrong: the file, or the signature, was changed", path);
  std::vector<std::byte> comment;
  for (uint8_t byte : signature.of_file) comment.push_back(std::byte{byte});
  for (char c : signature.comment) comment.push_back(static_cast<std::byte>(c));
  if (!sodium->is_signed(signature.of_comment, comment, key.key))
    return refused("the signature of the trusted comment is wrong", path);
  return {};
}

}  // namespace

bool requires_signatures() { return !env_value("BYOC_TRUSTED_KEYS").empty(); }

Status check_signature(const std::string& path, std::span<const std::byte> contents) {
  if (!requires_signatures()) return {};
  BYOC_TRY(const auto keys, trusted_keys());
  auto text = read_file(path + ".minisig", kMostBytes);
  if (!text.ok()) return refused(cat("it has no signature: ", text.status().message()), path);
  auto signature = minisign::parse_signature(*text);
  if (!signature.ok()) return std::move(signature.status()).at(path + ".minisig");
  const auto key = std::ranges::find(keys, signature->id, &minisign::PublicKey::id);
  if (key == keys.end())
    return refused(cat("it is signed by the key ", minisign::hex(signature->id),
                       ", which is none of BYOC_TRUSTED_KEYS"),
                   path);
  return check_by(*key, *signature, path, contents);
}

Status check_signature(const std::string& path) {
  if (!requires_signatures()) return {};
  BYOC_TRY(const auto file, MappedFile::open(path));
  return check_signature(path, file->bytes());
}

}  // namespace byoc
