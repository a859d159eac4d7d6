// SPDX-License-Identifier: Apache-2.0
#include "core/text/parse/lexer.h"

#include <algorithm>

#include "byoc/base/check.h"
#include "core/ir/quote.h"

namespace byoc {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// Returns the length of the escape after a backslash; 0 when there is none.
size_t escape_length(std::string_view rest) {
  if (rest.empty()) return 0;
  if (rest[0] == 'x') {
    return rest.size() >= 3 && hex_digit(rest[1]) >= 0 && hex_digit(rest[2]) >= 0 ? 3 : 0;
  }
  return std::string_view("\"\\nt").find(rest[0]) != std::string_view::npos ? 1 : 0;
}

// Replaces the escapes of a string that lex_quoted has accepted.
std::string unescape(std::string_view text) {
  std::string out;
  for (size_t k = 0; k < text.size(); ++k) {
    if (text[k] != '\\') {
      out += text[k];
      continue;
    }
    BYOC_CHECK(escape_length(text.substr(k + 1)) > 0, "a bad escape in ", text);
    char c = text[++k];
    if (c == 'x') {
      out += static_cast<char>(hex_digit(text[k + 1]) << 4 | hex_digit(text[k + 2]));
      k += 2;
    } else {
      out += c == 'n' ? '\n' : c == 't' ? '\t' : c;
    }
  }
  return out;
}

}  // namespace

bool Token::is_numbered() const { return kind == kValue && text.size() > 1 && is_digit(text[1]); }

void Lexer::skip_blank() {
  while (at_ < text_.size()) {
    char c = text_[at_];
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      ++at_;
    } else if (text_.substr(at_).starts_with("//")) {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else {
      return;
    }
  }
}

// Reads a string, with both quotes; the token is kBad when the string does not end or has a
// bad escape.
void Lexer::lex_quoted() {
  for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
    if (text_[at_] == '\n') break;
    if (text_[at_] != '\\') continue;
    size_t length = escape_length(text_.substr(at_ + 1));
    if (length == 0) {
      token_.kind = Token::kBad;
      return;
    }
    at_ += length;
  }
  if (at_ < text_.size() && text_[at_] == '"') ++at_;
  else token_.kind = Token::kBad;
}

bool Lexer::at_number() const {
  std::string_view rest = text_.substr(at_);
  if (is_digit(rest[0])) return true;
  return (rest[0] == '-' || rest[0] == '+') && rest.size() > 1 &&
         (is_digit(rest[1]) || rest.substr(1).starts_with("inf"));
}

// Accepts more than numbers: the caller decides which numbers are valid.
void Lexer::lex_number() {
  bool is_hex = text_.substr(at_).starts_with("0x");
  for (++at_; at_ < text_.size(); ++at_) {
    char c = text_[at_], before = text_[at_ - 1];
    bool is_exponent_sign = (c == '-' || c == '+') && !is_hex && (before == 'e' || before == 'E');
    if (!is_word(c) && c != '.' && !is_exponent_sign) return;
  }
}

void Lexer::advance() {
  skip_blank();
  size_t from = at_;
  token_ = {};
  if (at_ == text_.size()) {
    token_.text = text_.substr(at_);
    return;
  }
  char c = text_[at_];
  if (c == '"') {
    token_.kind = Token::kString;
    lex_quoted();
  } else if (c == '%' || c == '@') {
    token_.kind = c == '%' ? Token::kValue : Token::kSymbol;
    ++at_;
    if (at_ < text_.size() && text_[at_] == '"') lex_quoted();
    else
      while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    if (at_ == from + 1) token_.kind = Token::kBad;
  } else if (at_number()) {
    token_.kind = Token::kNumber;
    lex_number();
  } else if (is_word(c)) {
    token_.kind = Token::kName;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
  } else {
    bool is_punct = std::string_view("(){}[]<>,:=#?").find(c) != std::string_view::npos;
    token_.kind = is_punct ? Token::kPunct : Token::kBad;
    at_ += text_.substr(at_).starts_with("<=") ? 2 : 1;
  }
  BYOC_CHECK(at_ > from, "a token without characters at ", from);
  token_.text = text_.substr(from, at_ - from);
}

Token Lexer::take() {
  Token token = token_;
  advance();
  return token;
}

bool Lexer::take_if(std::string_view punct_or_name) {
  if (!token_.is(punct_or_name)) return false;
  advance();
  return true;
}

Status Lexer::expect(std::string_view punct_or_name) {
  if (take_if(punct_or_name)) return {};
  return expected(cat("'", punct_or_name, "'"));
}

std::string Lexer::name(const Token& token) const {
  BYOC_CHECK(token.kind != Token::kBad, "a bad token has no name: ", token.text);
  std::string_view text = token.text;
  if (token.kind == Token::kValue || token.kind == Token::kSymbol) text.remove_prefix(1);
  if (text.size() < 2 || text[0] != '"') return std::string(text);
  return unescape(text.substr(1, text.size() - 2));
}

Status Lexer::expected(std::string_view what) const {
  std::string found;
  if (token_.kind == Token::kEnd) found = "the end of the text";
  else print_quoted(found, token_.text.substr(0, 40));
  if (token_.kind == Token::kBad) found += ", which is no token";
  return error(token_, cat("expected ", what, ", found ", found));
}

Status Lexer::error(const Token& token, std::string message) const {
  return invalid(std::move(message)).with_slug("ir-syntax").at(place(token));
}

size_t Lexer::offset(const Token& token) const {
  auto offset = static_cast<size_t>(token.text.data() - text_.data());
  BYOC_CHECK(offset <= text_.size(), "a token of another text");
  return offset;
}

void Lexer::jump(size_t offset) {
  at_ = offset;
  advance();
}

std::string Lexer::place(const Token& token) const {
  const size_t offset = this->offset(token);
  std::string_view before = text_.substr(0, offset);
  size_t line = static_cast<size_t>(std::count(before.begin(), before.end(), '\n')) + 1;
  size_t newline = before.rfind('\n');
  size_t column = newline == std::string_view::npos ? offset : offset - newline - 1;
  return cat(line, ":", column + 1);
}

}  // namespace byoc
