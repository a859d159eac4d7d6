#pragma once
// Names in the text form: bare when they are identifiers, quoted and escaped when they are not.
#include <string>
#include <string_view>

namespace byoc {

/// [A-Za-z_][A-Za-z0-9_]*
bool is_identifier(std::string_view text);
/// "text" with \" \\ \n \t and \xNN for other control bytes; the lexer undoes it byte for byte.
void print_quoted(std::string& out, std::string_view text);
/// Bare or quoted.
void print_name(std::string& out, std::string_view text);

}  // namespace byoc
