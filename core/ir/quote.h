// SPDX-License-Identifier: Apache-2.0
#pragma once
// Quotes text inside text: names of the text form, bare when they are identifiers,
// and JSON strings.
#include <string>
#include <string_view>

namespace byoc {

/// Returns true for [A-Za-z_][A-Za-z0-9_]*
bool is_identifier(std::string_view text);
/// Appends "text" with \" \\ \n \t and \xNN for other control bytes; the lexer restores every byte.
void print_quoted(std::string& out, std::string_view text);
/// Appends the name, bare or quoted.
void print_name(std::string& out, std::string_view text);
/// Appends the text quoted and escaped for JSON; bytes that are no UTF-8 become U+FFFD, because
/// JSON has no other text.
void print_json_string(std::string& out, std::string_view text);
/// Appends "[a,b]"; print(item) appends one item.
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
