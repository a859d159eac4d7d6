// SPDX-License-Identifier: Apache-2.0
// Parses expressions: as printed, with all parentheses, or by precedence.
#include <charconv>
#include <cmath>

#include "core/te/number.h"
#include "core/te/text/parser.h"
#include "core/te/text/words.h"
#include "core/te/typing.h"

namespace byoc::te {
namespace {

// The longest path of an expression, because walks over expressions are recursive.
constexpr int kMaxDepth = 500;
constexpr int kHighestLevel = 7;

struct Operator {
  BinaryOp op;
  int level;
  size_t length;
  bool is_swapped;  // a > b is b < a
};

// Returns the longest infix operator at the start of `text`.
std::optional<Operator> operator_at(std::string_view text) {
  if (text.starts_with(">=")) return Operator{BinaryOp::kLessEqual, 4, 2, true};
  std::optional<Operator> found;
  for (size_t k = 0; k < std::size(kBinaryNames); ++k) {
    const BinaryName& name = kBinaryNames[k];
    if (name.level == 0 || !text.starts_with(name.text)) continue;
    if (!found || name.text.size() > found->length)
      found = Operator{static_cast<BinaryOp>(k), name.level, name.text.size(), false};
  }
  if (!found && text.starts_with(">")) return Operator{BinaryOp::kLess, 4, 1, true};
  return found;
}

template <class Op>
std::optional<Op> function_called(std::string_view name) {
  if constexpr (std::is_same_v<Op, UnaryOp>) {
    for (size_t k = 0; k < std::size(kUnaryNames); ++k)
      if (kUnaryNames[k] == name) return static_cast<Op>(k);
  } else {
    for (size_t k = 0; k < std::size(kBinaryNames); ++k)
      if (kBinaryNames[k].level == 0 && kBinaryNames[k].text == name) return static_cast<Op>(k);
  }
  return std::nullopt;
}

}  // namespace

Result<Expr> Parser::expression() {
  BYOC_TRY(Deep out, expression(1, 0));
  return out.x;
}

Result<Deep> Parser::expression(int level, int depth) {
  BYOC_TRY(Deep left, operand(depth));
  while (true) {
    const std::optional<Operator> op = operator_at(in_.rest());
    if (!op || op->level < level) return left;
    const size_t at = in_.at();
    in_.advance(op->length);
    Result<Deep> right =
        op->level == kHighestLevel ? operand(depth + 1) : expression(op->level + 1, depth + 1);
    if (!right.ok()) return right;
    if (op->is_swapped) std::swap(left, *right);
    BYOC_TRY(left, apply(op->op, std::move(left), *std::move(right), at));
  }
}

Result<Deep> Parser::apply(UnaryOp op, Deep x, size_t at) {
  if (!fits(op, x.x.dtype()))
    return in_.wrong(at, cat(kUnaryNames[static_cast<size_t>(op)], " takes no ", x.x.dtype()));
  return Deep{unary(op, std::move(x.x)), x.depth + 1};
}

Result<Deep> Parser::apply(BinaryOp op, Deep a, Deep b, size_t at) {
  const std::string_view name = kBinaryNames[static_cast<size_t>(op)].text;
  if (a.x.dtype() != b.x.dtype()) {
    return in_.wrong(at, cat(name, " of ", a.x.dtype(), " and ", b.x.dtype(),
                             ": write a cast such as f32(x), or a number such as 1.0 or 1:i32"));
  }
  if (!fits(op, a.x.dtype())) return in_.wrong(at, cat(name, " takes no ", a.x.dtype()));
  const int depth = std::max(a.depth, b.depth) + 1;
  if (depth > kMaxDepth)
    return in_.wrong(at, cat("an expression is nested more than ", kMaxDepth, " deep"));
  return Deep{binary(op, std::move(a.x), std::move(b.x)), depth};
}

Result<Deep> Parser::one_operand(UnaryOp op, size_t at, int depth) {
  BYOC_TRY(Deep x, operand(depth + 1));
  return apply(op, std::move(x), at);
}

Result<Deep> Parser::operand(int depth) {
  const std::string_view text = in_.rest();
  const size_t at = in_.at();
  if (depth > kMaxDepth)
    return in_.wrong(at, cat("an expression is nested more than ", kMaxDepth, " deep"));
  const bool is_negative =
      text.size() > 1 && text[0] == '-' && (is_digit(text[1]) || text.substr(1).starts_with("inf"));
  if (is_negative || in_.number_length() > 0) return literal();
  if (in_.take("(")) {
    BYOC_TRY(Deep inside, expression(1, depth + 1));
    BYOC_TRY_STATUS(in_.expect(")"));
    return inside;
  }
  if (in_.take("-")) return one_operand(UnaryOp::kNegate, at, depth);
  if (in_.take("!")) return one_operand(UnaryOp::kNot, at, depth);
  if (in_.take("~")) return one_operand(UnaryOp::kBitwiseNot, at, depth);
  if (in_.take("$")) {
    BYOC_TRY(int64_t number, in_.integer());
    if (number < 0 || static_cast<size_t>(number) >= short_.size())
      return in_.wrong(at, cat("$", number, " is not defined right before this statement"));
    return short_[static_cast<size_t>(number)];
  }
  return named(depth);
}

// Parses 1, 1:i32, -2.5, 1e-3:f64, inf.
Result<Deep> Parser::literal() {
  const size_t at = in_.at();
  const bool is_negative = in_.take("-");
  const std::string_view word = in_.word();
  size_t length = word.empty() ? in_.number_length() : word.size();
  const std::string digits = cat(is_negative ? "-" : "", in_.rest().substr(0, length));
  const bool is_real = digits.find_first_of(".enf") != std::string::npos;
  in_.advance(length);
  DType dtype = is_real ? DType::kF32 : DType::kI64;
  const std::string_view after = in_.unread();
  if (after.size() > 1 && after[0] == ':' && is_letter(after[1])) {  // in "i < 2: x" it ends
    in_.advance(1);
    const std::optional<DType> given = parse_dtype(in_.word());
    if (!given || *given == DType::kBool) return in_.expected("the type of a number");
    dtype = *given;
    in_.advance(in_.word().size());
  }
  const char *begin = digits.data(), *end = begin + digits.size();
  if (is_float(dtype)) {
    double value = 0;
    auto [last, error] = std::from_chars(begin, end, value);
    if (error != std::errc() || last != end)
      return in_.wrong(at, cat(digits, " is no number of 64 bits"));
    return Deep{constant(dtype, value)};
  }
  int64_t value = 0;
  auto [last, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || last != end || wrapped(dtype, value) != value)
    return in_.wrong(at, cat(digits, " is no ", dtype));
  return Deep{int_constant(dtype, value)};
}

Result<Deep> Parser::named(int depth) {
  const size_t at = in_.at();
  const std::string_view word = in_.word();
  if (word == "true" || word == "false") {
    in_.advance(word.size());
    return Deep{int_constant(DType::kBool, word == "true")};
  }
  if (word == "nan" || word == "inf") return literal();
  BYOC_TRY(std::string name, in_.name("a value"));
  if (in_.take("[")) return load(name, at, depth);
  if (!word.empty() && in_.take("(")) return call(name, at, depth);
  if (const Variable* known = vars_.find(name)) return Deep{*known->ref};
  if (!declares_) return in_.wrong(at, cat("there is no variable ", name, " here"));
  Variable made{Expr(Var(name))};
  vars_.add(name, made);
  return Deep{*made.ref};
}

Result<std::vector<Deep>> Parser::arguments(size_t count, std::string_view close, int depth) {
  std::vector<Deep> out;
  while (!in_.take(close)) {
    if (!out.empty()) BYOC_TRY_STATUS(in_.expect(","));
    if (out.size() == count)
      return in_.expected(cat("'", close, "' after ", count, count == 1 ? " value" : " values"));
    BYOC_TRY(Deep x, expression(1, depth + 1));
    out.push_back(std::move(x));
  }
  if (out.size() == count) return out;
  return in_.wrong(in_.at() - 1, cat("expected ", count, count == 1 ? " value" : " values",
                                     ", found ", out.size()));
}

Result<Deep> Parser::call(const std::string& name, size_t at, int depth) {
  if (name == "select") {
    BYOC_TRY(std::vector<Deep> x, arguments(3, ")", depth));
    if (x[0].x.dtype() != DType::kBool)
      return in_.wrong(at, cat("select by a value of type ", x[0].x.dtype(), ", not bool"));
    if (x[1].x.dtype() != x[2].x.dtype())
      return in_.wrong(at, cat("select of ", x[1].x.dtype(), " and ", x[2].x.dtype()));
    const int longest = std::max({x[0].depth, x[1].depth, x[2].depth}) + 1;
    return Deep{te::select(x[0].x, x[1].x, x[2].x), longest};
  }
  if (std::optional<BinaryOp> op = function_called<BinaryOp>(name)) {
    BYOC_TRY(std::vector<Deep> x, arguments(2, ")", depth));
    return apply(*op, x[0], x[1], at);
  }
  const std::optional<UnaryOp> unary = function_called<UnaryOp>(name);
  const bool has_bits = name.starts_with(kBitsAs);
  const std::optional<DType> to = parse_dtype(has_bits ? name.substr(kBitsAs.size()) : name);
  if (!unary && !to) return in_.wrong(at, cat("there is no function ", name));
  BYOC_TRY(std::vector<Deep> x, arguments(1, ")", depth));
  if (unary) return apply(*unary, x[0], at);
  if (!has_bits) return Deep{te::cast(*to, x[0].x), x[0].depth + 1};
  if (dtype_size(*to) != dtype_size(x[0].x.dtype()))
    return in_.wrong(at, cat(name, " of ", x[0].x.dtype(), ", which has another size"));
  return Deep{te::bitcast(*to, x[0].x), x[0].depth + 1};
}

Result<const Parser::Memory*> Parser::memory(const std::string& name, size_t at) {
  if (const Memory* known = tensors_.find(name)) return known;
  return in_.wrong(at, cat("there is no tensor ", name, " here"));
}

Result<Deep> Parser::load(const std::string& name, size_t at, int depth) {
  BYOC_TRY(const Memory* from, memory(name, at));
  const Tensor tensor = *from->tensor;
  BYOC_TRY(std::vector<Deep> given, arguments(tensor.rank(), "]", depth));
  Exprs indices;
  int longest = 0;
  for (Deep& index : given) {
    if (index.x.dtype() != DType::kI64)
      return in_.wrong(at, cat("an index of ", name, " is ", index.x.dtype(), ", not i64"));
    longest = std::max(longest, index.depth);
    indices.push_back(std::move(index.x));
  }
  return Deep{tensor(std::move(indices)), longest + 1};
}

// Parses the indices of a store or a place, after the bracket.
Result<Exprs> Parser::indices(const Tensor& tensor, size_t at) {
  BYOC_TRY(std::vector<Deep> given, arguments(tensor.rank(), "]", 0));
  Exprs out;
  for (Deep& index : given) {
    if (index.x.dtype() != DType::kI64)
      return in_.wrong(at,
                       cat("an index of ", tensor.name(), " is ", index.x.dtype(), ", not i64"));
    out.push_back(std::move(index.x));
  }
  return out;
}

}  // namespace byoc::te
