// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads characters, words and numbers of the text form.
#include <string>
#include <string_view>

#include "byoc/base/status.h"

namespace byoc::te {

class Reader {
 public:
  /// Begins at `at`; errors count lines from the start of `text`.
  Reader(std::string_view text, size_t at) : text_(text), at_(at) {}

  size_t at() const { return at_; }  // where the last thing read ends
  /// Returns what is left, without blanks and comments before it.
  std::string_view rest();
  bool take(std::string_view punct);
  bool is_at(std::string_view punct) { return rest().starts_with(punct); }
  /// Returns the word without quotes that is next; "" when there is none.
  std::string_view word();
  bool take_word(std::string_view word);
  Status expect(std::string_view punct);
  /// Reads a name: a word that is not reserved, or any text in quotes.
  Result<std::string> name(std::string_view what, bool is_any_word = false);
  Result<int64_t> integer();
  /// Returns the length of the number that is next, without a sign.
  size_t number_length();
  /// Returns what is left, blanks included.
  std::string_view unread() const { return text_.substr(at_); }
  void advance(size_t letters) { at_ += letters; }

  /// Returns an error "expected X, found Y" at the next character.
  Status expected(std::string_view what);
  Status wrong(size_t at, std::string message) const;

 private:
  Result<std::string> quoted();
  std::string_view text_;
  size_t at_;
};

}  // namespace byoc::te
