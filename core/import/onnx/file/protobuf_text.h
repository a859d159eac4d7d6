// SPDX-License-Identifier: Apache-2.0
#pragma once
// Formats names and numbers of a model file for messages and printed modules.
#include <charconv>
#include <string>
#include <string_view>

namespace byoc::onnx_import {

/// Returns `name` in quotes for messages, with control characters escaped, cut to one line.
inline std::string in_quotes(std::string_view name) {
  constexpr size_t kLongest = 120;
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "\"";
  for (char c : name.substr(0, kLongest)) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') out += '\\';
    if (byte >= 0x20 && byte != 0x7f) {
      out += c;
    } else {
      out += "\\x";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
  if (name.size() > kLongest) out += "...";
  return out + "\"";
}

/// Returns the shortest decimal that rounds to this float, so that printed modules are readable:
/// 0.01f becomes 0.01 and not 0.009999999776. Rounded to 32 bits, it is the same number.
inline double shortest_double(float value) {
  char text[32];
  auto end = std::to_chars(text, text + sizeof text, value).ptr;
  double wide = 0;
  auto read = std::from_chars(text, end, wide);
  return read.ec == std::errc() && read.ptr == end ? wide : double{value};
}

}  // namespace byoc::onnx_import
