// SPDX-License-Identifier: Apache-2.0
#pragma once
// Splits text into tokens. Tokens are views of the text; strings are decoded on request.
#include <string>
#include <string_view>

#include "byoc/base/status.h"

namespace byoc {

struct Token {
  enum Kind {
    kEnd,
    kName,    // conv2d
    kNumber,  // 1, -1.5e3, 0x7f, -inf, also a key that starts with a digit
    kString,  // "..."
    kValue,   // %x, %"input.1", %3
    kSymbol,  // @f, @"my net"
    kPunct,   // ( ) { } [ ] < > , : = # ? and <=
    kBad      // a character with which no token starts
  };
  Kind kind = kEnd;
  std::string_view text;  // with its sigil and quotes
  bool is(std::string_view punct_or_name) const { return kind != kString && text == punct_or_name; }
  bool is_numbered() const;  // %3
};

/// Copies are cheap and independent: looking ahead is lexing with a copy.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) { advance(); }
  const Token& token() const { return token_; }
  Token take();  // the token, then advances
  void advance();
  bool take_if(std::string_view punct_or_name);
  Status expect(std::string_view punct_or_name);
  /// Returns the name of a kName, kString, kValue or kSymbol token, without sigil,
  /// quotes and escapes.
  std::string name(const Token& token) const;
  /// Returns an error with slug "ir-syntax", "expected X, found Y", at the token's place.
  Status expected(std::string_view what) const;
  Status error(const Token& token, std::string message) const;
  std::string_view text() const { return text_; }  // all of it
  size_t offset(const Token& token) const;         // where the token begins
  /// Continues at that place, which another parser has reached.
  void jump(size_t offset);
  /// Returns "line:column", both from 1. Counts from the start of the text, so use it
  /// for errors alone.
  std::string place(const Token& token) const;

 private:
  void skip_blank();
  void lex_quoted();
  void lex_number();
  bool at_number() const;
  std::string_view text_;
  size_t at_ = 0;
  Token token_;
};

}  // namespace byoc
