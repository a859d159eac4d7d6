// SPDX-License-Identifier: Apache-2.0
#pragma once
// The words of the text form, which the printer and the parser share.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "byoc/te/expr.h"

namespace byoc::te {

inline constexpr std::string_view kUnaryNames[] = {
    "-",     "!",     "~",     "abs",  "sqrt",  "exp",   "log",    "erf",   "tanh",
    "sin",   "cos",   "tan",   "asin", "acos",  "atan",  "sinh",   "cosh",  "asinh",
    "acosh", "atanh", "floor", "ceil", "trunc", "round", "is_nan", "is_inf"};
static_assert(std::size(kUnaryNames) == static_cast<size_t>(UnaryOp::kIsInf) + 1);

/// An operation on two operands. `level`: the precedence of an infix operator, higher binds
/// tighter; 0 for calls such as min(a, b).
struct BinaryName {
  std::string_view text;
  int level;
};
inline constexpr BinaryName kBinaryNames[] = {
    {"+", 6},   {"-", 6},   {"*", 7},   {"/", 7}, {"%", 7}, {"floor_div", 0}, {"floor_mod", 0},
    {"min", 0}, {"max", 0}, {"pow", 0}, {"&", 3}, {"|", 1}, {"^", 2},         {"<<", 5},
    {">>", 5},  {"==", 4},  {"!=", 4},  {"<", 4}, {"<=", 4}};
static_assert(std::size(kBinaryNames) == static_cast<size_t>(BinaryOp::kLessEqual) + 1);

/// The first words of loops, in the order of LoopKind.
inline constexpr std::string_view kLoopNames[] = {"for", "parallel", "vectorized", "unrolled"};
inline constexpr std::string_view kBitsAs = "bits_as_";

inline bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
/// Returns true for characters inside of names; a point is one when another one follows it.
inline bool is_inside_name(char c) { return is_letter(c) || is_digit(c) || c == '\'' || c == '#'; }

/// Returns the length of the name without quotes at the start of `text`, 0 when there is none.
inline size_t plain_name_length(std::string_view text) {
  if (text.empty() || !is_letter(text[0])) return 0;
  size_t n = 1;
  while (n < text.size()) {
    bool is_point = text[n] == '.' && n + 1 < text.size() && is_inside_name(text[n + 1]);
    if (!is_inside_name(text[n]) && !is_point) break;
    ++n;
  }
  return n;
}

/// Returns true for words that begin a statement or are values: a name like that needs quotes.
inline bool is_reserved(std::string_view name) {
  static constexpr std::string_view kWords[] = {
      "for",       "parallel", "vectorized", "unrolled", "if",  "else", "let",  "in",
      "workspace", "stack",    "kernel",     "nan",      "inf", "true", "false"};
  return std::find(std::begin(kWords), std::end(kWords), name) != std::end(kWords);
}

}  // namespace byoc::te
