// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers and texts as bytes.
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "byoc/plugin/sdk/error.h"

namespace byoc::llvm_plugin {

inline void put_number(std::string& out, uint64_t x) {
  out.append(reinterpret_cast<const char*>(&x), sizeof x);
}
inline void put_text(std::string& out, std::string_view text) {
  put_number(out, text.size());
  out += text;
}
inline void put_numbers(std::string& out, std::span<const uint64_t> numbers) {
  put_number(out, numbers.size());
  for (uint64_t x : numbers) put_number(out, x);
}

/// Reads what put_... wrote. Throws BYOC_DATA_LOSS at the end of the bytes.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  uint64_t number() {
    uint64_t x = 0;
    std::memcpy(&x, raw(sizeof x).data(), sizeof x);
    return x;
  }
  std::vector<uint64_t> numbers() {
    std::vector<uint64_t> out;
    for (uint64_t n = number(); n > 0; --n) out.push_back(number());
    return out;
  }
  std::string_view text() { return raw(number()); }
  /// Returns the bytes that are left.
  std::string_view rest() { return raw(bytes_.size()); }
  /// Returns the next bytes.
  std::string_view raw(uint64_t size) {
    if (size > bytes_.size())
      throw sdk::Error(BYOC_DATA_LOSS, "the saved module is cut short or changed");
    std::string_view out = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return out;
  }

 private:
  std::string_view bytes_;
};

}  // namespace byoc::llvm_plugin
