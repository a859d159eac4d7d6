// SPDX-License-Identifier: Apache-2.0
#include "core/ir/quote.h"

#include <algorithm>

namespace byoc {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Returns the length of the well-formed UTF-8 sequence at the start (Unicode 15, table 3-7); 0
// when there is none.
size_t utf8_length(std::string_view text) {
  auto byte = [&](size_t k) { return k < text.size() ? static_cast<unsigned char>(text[k]) : 0u; };
  auto in = [&](size_t k, unsigned low, unsigned high) {
    return byte(k) >= low && byte(k) <= high;
  };
  if (byte(0) < 0x80) return 1;
  if (in(0, 0xc2, 0xdf)) return in(1, 0x80, 0xbf) ? 2 : 0;
  if (in(0, 0xe0, 0xef)) {
    bool second = in(1, byte(0) == 0xe0 ? 0xa0 : 0x80, byte(0) == 0xed ? 0x9f : 0xbf);
    return second && in(2, 0x80, 0xbf) ? 3 : 0;
  }
  if (!in(0, 0xf0, 0xf4)) return 0;
  bool second = in(1, byte(0) == 0xf0 ? 0x90 : 0x80, byte(0) == 0xf4 ? 0x8f : 0xbf);
  return second && in(2, 0x80, 0xbf) && in(3, 0x80, 0xbf) ? 4 : 0;
}

void print_hex(std::string& out, std::string_view prefix, char c) {
  static constexpr char kDigits[] = "0123456789abcdef";
  out += prefix;
  out += kDigits[(c >> 4) & 15];
  out += kDigits[c & 15];
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

void print_escaped(std::string& out, char c) {
  if (c == '"' || c == '\\') {
    out += '\\';
    out += c;
  } else if (c == '\n') {
    out += "\\n";
  } else if (c == '\t') {
    out += "\\t";
  } else if (is_control(c)) {
    print_hex(out, "\\x", c);
  } else {
    out += c;
  }
}

}  // namespace

bool is_identifier(std::string_view text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  return std::all_of(text.begin(), text.end(), is_word);
}

void print_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (char c : text) print_escaped(out, c);
  out += '"';
}

void print_name(std::string& out, std::string_view text) {
  if (is_identifier(text)) {
    out += text;
  } else {
    print_quoted(out, text);
  }
}

void print_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    size_t length = utf8_length(text);
    if (length == 0) out += "\\ufffd";
    else if (is_control(text[0])) print_hex(out, "\\u00", text[0]);
    else if (length == 1) print_escaped(out, text[0]);
    else out += text.substr(0, length);
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  out += '"';
}

}  // namespace byoc
