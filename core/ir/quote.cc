#include "core/ir/quote.h"

#include <algorithm>

namespace byoc {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

void print_escaped(std::string& out, char c) {
  static constexpr char kDigits[] = "0123456789abcdef";
  if (c == '"' || c == '\\') {
    out += '\\';
    out += c;
  } else if (c == '\n') {
    out += "\\n";
  } else if (c == '\t') {
    out += "\\t";
  } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
    out += "\\x";
    out += kDigits[(c >> 4) & 15];
    out += kDigits[c & 15];
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

}  // namespace byoc
