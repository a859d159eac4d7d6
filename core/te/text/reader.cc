// SPDX-License-Identifier: Apache-2.0
#include "core/te/text/reader.h"

#include <algorithm>
#include <charconv>

#include "core/te/text/words.h"

namespace byoc::te {
namespace {

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

size_t digits(std::string_view text, size_t from) {
  size_t n = from;
  while (n < text.size() && is_digit(text[n])) ++n;
  return n - from;
}

}  // namespace

std::string_view Reader::rest() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') ++at_;
    else if (text_.substr(at_).starts_with("//"))
      at_ = std::min(text_.find('\n', at_), text_.size());
    else break;
  }
  return text_.substr(at_);
}

bool Reader::take(std::string_view punct) {
  if (!is_at(punct)) return false;
  at_ += punct.size();
  return true;
}

std::string_view Reader::word() {
  const std::string_view text = rest();
  return text.substr(0, plain_name_length(text));
}

bool Reader::take_word(std::string_view expected) {
  if (word() != expected) return false;
  at_ += expected.size();
  return true;
}

Status Reader::expect(std::string_view punct) {
  return take(punct) ? Status() : expected(cat("'", punct, "'"));
}

Result<std::string> Reader::name(std::string_view what, bool is_any_word) {
  if (is_at("\"")) return quoted();
  const std::string_view found = word();
  if (found.empty() || (is_reserved(found) && !is_any_word)) return expected(what);
  at_ += found.size();
  return std::string(found);
}

Result<std::string> Reader::quoted() {
  const size_t begin = at_;
  std::string out;
  for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
    if (text_[at_] != '\\') {
      out += text_[at_];
      continue;
    }
    const std::string_view escape = text_.substr(at_ + 1, 3);
    if (escape.starts_with('"') || escape.starts_with('\\')) {
      out += escape[0];
      at_ += 1;
    } else if (escape.starts_with('n') || escape.starts_with('t')) {
      out += escape[0] == 'n' ? '\n' : '\t';
      at_ += 1;
    } else if (escape.size() == 3 && escape[0] == 'x' && hex_digit(escape[1]) >= 0 &&
               hex_digit(escape[2]) >= 0) {
      out += static_cast<char>(hex_digit(escape[1]) << 4 | hex_digit(escape[2]));
      at_ += 3;
    } else {
      return wrong(at_, R"(an escape in a name is \", \\, \n, \t or \x and two digits)");
    }
  }
  if (at_ >= text_.size()) return wrong(begin, "a name without closing quote");
  ++at_;
  if (out.empty()) return wrong(begin, "an empty name");
  return out;
}

size_t Reader::number_length() {
  const std::string_view text = rest();
  size_t n = digits(text, 0);
  if (n == 0) return 0;
  if (n < text.size() && text[n] == '.') {
    const size_t fraction = digits(text, n + 1);
    if (fraction > 0) n += 1 + fraction;
  }
  if (n < text.size() && text[n] == 'e') {
    const size_t sign = n + 1 < text.size() && (text[n + 1] == '-' || text[n + 1] == '+');
    const size_t exponent = digits(text, n + 1 + sign);
    if (exponent > 0) n += 1 + sign + exponent;
  }
  return n;
}

Result<int64_t> Reader::integer() {
  const std::string_view text = rest();
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return expected("an integer of 64 bits");
  at_ += static_cast<size_t>(end - text.data());
  return value;
}

Status Reader::expected(std::string_view what) {
  const std::string_view found = rest().substr(0, 20);
  const size_t line = std::min(found.find('\n'), found.size());
  if (found.empty()) return wrong(at_, cat("expected ", what, ", found the end of the text"));
  return wrong(at_, cat("expected ", what, ", found \"", found.substr(0, line), "\""));
}

Status Reader::wrong(size_t at, std::string message) const {
  const std::string_view before = text_.substr(0, at);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t newline = before.rfind('\n');
  const size_t column = newline == std::string_view::npos ? at : at - newline - 1;
  return invalid(std::move(message)).with_slug("loops-syntax").at(cat(line, ":", column + 1));
}

}  // namespace byoc::te
