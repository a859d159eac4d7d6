// SPDX-License-Identifier: Apache-2.0
#pragma once
// Text inside text: names of the text form, bare when they are identifiers, and JSON strings.
#include <string>
#include <string_view>

namespace byoc {

/// [A-Za-z_][A-Za-z0-9_]*
bool is_identifier(std::string_view text);
/// "text" with \" \\ \n \t and \xNN for other control bytes; the lexer undoes it byte for byte.
void print_quoted(std::string& out, std::string_view text);
/// Bare or quoted.
void print_name(std::string& out, std::string_view text);
/// Quoted and escaped for JSON; bytes that are no UTF-8 become U+FFFD, for JSON has no other text.
void print_json_string(std::string& out, std::string_view text);
/// "[a,b]"; print(item) appends one item.
template <class List, class Print>
void print_list(std::string& out, const List& list, Print&& print) {
  out += '[';
  bool first = true;
  for (const auto& item : list) {
    if (!first) out += ',';
    first = false;
    print(item);
  }
  out += ']';
}

}  // namespace byoc
