// SPDX-License-Identifier: Apache-2.0
#include "runtime/signature/minisign.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <vector>

namespace byoc::minisign {
namespace {

constexpr std::string_view kUntrusted = "untrusted comment: ", kTrusted = "trusted comment: ";

/// Returns the bytes of a base64 text with padding; nullopt when it is none.
std::optional<std::string> decoded(std::string_view text) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (text.size() % 4 != 0) return std::nullopt;
  const size_t digits = std::min(text.find('='), text.size());
  if (text.size() - digits > 2) return std::nullopt;
  if (text.find_first_not_of('=', digits) != text.npos) return std::nullopt;
  std::string out;
  uint32_t bits = 0;
  for (size_t k = 0; k < digits; ++k) {
    const size_t digit = kDigits.find(text[k]);
    if (digit == kDigits.npos) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    if (k % 4 == 0) continue;  // the first digit of four completes no byte
    out += static_cast<char>(bits >> (6 - k % 4 * 2));
  }
  return out;
}

/// Returns the lines, without the ends of lines.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    out.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

template <size_t n>
void copy(std::string_view bytes, size_t at, std::array<uint8_t, n>& to) {
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), n, to.begin());
}

Status wrong(std::string_view what) {
  return Status(Code::kUnauthenticated, std::string(what)).with_slug("signature");
}

}  // namespace

std::string hex(const KeyId& id) {
  std::string out;
  for (size_t k = id.size(); k-- > 0;) {  // minisign prints it as a little-endian number
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02X", id[k]);
    out += digits;
  }
  return out;
}

Result<PublicKey> parse_key(std::string_view text) {
  const std::vector<std::string_view> lines = lines_of(text);
  const size_t at = !lines.empty() && lines[0].starts_with(kUntrusted) ? 1 : 0;
  const auto bytes = lines.size() > at ? decoded(lines[at]) : std::nullopt;
  PublicKey out;
  if (!bytes || bytes->size() != 2 + out.id.size() + out.key.size() || !bytes->starts_with("Ed"))
    return invalid("no public key of minisign").with_slug("signature-key");
  copy(*bytes, 2, out.id);
  copy(*bytes, 2 + out.id.size(), out.key);
  return out;
}

Result<Signature> parse_signature(std::string_view text) {
  const std::vector<std::string_view> lines = lines_of(text);
  if (lines.size() < 4 || !lines[0].starts_with(kUntrusted) || !lines[2].starts_with(kTrusted))
    return wrong("it has not the four lines of minisign");
  const auto bytes = decoded(lines[1]), of_comment = decoded(lines[3]);
  Signature out;
  if (!bytes || bytes->size() != 2 + out.id.size() + out.of_file.size())
    return wrong("its second line is no signature");
  if (!of_comment || of_comment->size() != out.of_comment.size())
    return wrong("its fourth line is no signature");
  out.is_hashed = bytes->starts_with("ED");
  if (!out.is_hashed && !bytes->starts_with("Ed"))
    return wrong("it is by an algorithm other than Ed25519");
  copy(*bytes, 2, out.id);
  copy(*bytes, 2 + out.id.size(), out.of_file);
  copy(*of_comment, 0, out.of_comment);
  out.comment = lines[2].substr(kTrusted.size());
  return out;
}

}  // namespace byoc::minisign
