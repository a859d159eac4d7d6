// SPDX-License-Identifier: Apache-2.0
// Parses types, attributes, and the names and numbers in them.
#include <charconv>

#include "byoc/ir/dim.h"
#include "core/text/parse/parser.h"

namespace byoc {
namespace {

template <class T>
bool convert(std::string_view text, T& value) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const char* end = text.data() + text.size();
  auto result = std::from_chars(text.data(), end, value);
  return result.ec == std::errc() && result.ptr == end;
}

bool is_integer_text(std::string_view text) {
  return text.find_first_not_of("+-0123456789") == std::string_view::npos;
}

enum class Counted { kNo, kYes };

// Parses N, N<=64, 2<=N, 2<=N<=64; the caller has read `min` when there is one, and the question
// mark of a counted dim.
Result<Dim> parse_named_dim(Lexer& in, NamedDims& dims, int64_t min,
                            Counted counted = Counted::kNo) {
  Token token = in.token();
  if (token.kind != Token::kName && token.kind != Token::kString) return in.expected("a dim");
  in.advance();
  int64_t max = Dim::kUnbounded;
  if (in.take_if("<=")) {
    BYOC_TRY(max, parse_integer(in, min, Dim::kUnbounded));
  }
  std::string name = in.name(token);
  if (name.empty()) return in.error(token, "a dim needs a name");
  if (counted == Counted::kYes && max == Dim::kUnbounded)
    return in.error(token, cat("the counted dim ", name, " needs an upper bound"));
  Dim dim = counted == Counted::kYes ? Dim::counted(name, max) : Dim::symbol(name, min, max);
  auto [known, is_new] = dims.try_emplace(name, dim);
  if (!is_new && !(known->second == dim)) {
    return in.error(token, cat("dim ", dim, " was ", known->second, " before in this function"));
  }
  return dim;
}

// Parses (B*T : B<=4, T); the token is the parenthesis.
Result<Dim> parse_expression(Lexer& in, NamedDims& dims) {
  const Token open = in.token();
  const std::string_view text = in.text().substr(in.offset(open));
  size_t end = 0;
  int depth = 0;
  bool is_quoted = false;
  do {
    const char c = text[end++];
    if (is_quoted && c == '\\') ++end;
    else if (c == '"') is_quoted = !is_quoted;
    else if (!is_quoted) depth += c == '(' ? 1 : c == ')' ? -1 : 0;
  } while (depth > 0 && end < text.size());
  if (depth != 0) return in.error(open, "a size without its closing parenthesis");
  Result<Dim> dim = byoc::parse_dim(text.substr(0, end));
  if (!dim.ok()) return in.error(open, dim.status().message());
  for (Dim size : sizes_in(*dim)) {
    auto [known, is_new] = dims.try_emplace(size.name(), size);
    if (!is_new && !(known->second == size))
      return in.error(open, cat("dim ", size, " was ", known->second, " before in this function"));
  }
  in.jump(in.offset(open) + end);
  return dim;
}

Result<Dim> parse_dim(Lexer& in, NamedDims& dims) {
  if (in.token().is("(")) return parse_expression(in, dims);
  if (in.take_if("?")) return parse_named_dim(in, dims, 0, Counted::kYes);
  if (in.token().kind != Token::kNumber) return parse_named_dim(in, dims, 0);
  BYOC_TRY(int64_t number, parse_integer(in, 0, INT64_MAX));
  if (in.take_if("<=")) return parse_named_dim(in, dims, number);
  return Dim(number);
}

Result<double> parse_double(Lexer& in) {
  double value = 0;
  if (!convert(in.token().text, value)) return in.expected("a number");
  in.advance();
  return value;
}

// Parses numbers, strings, bools, dtypes and constants: the values that occur alone and in lists.
Result<AttrValue> parse_scalar(Lexer& in, ParseContext& context) {
  const Token token = in.token();
  if (token.kind == Token::kString) {
    in.advance();
    return AttrValue(in.name(token));
  }
  if (token.kind == Token::kNumber && is_integer_text(token.text)) {
    BYOC_TRY(int64_t value, parse_integer(in, INT64_MIN, INT64_MAX));
    return AttrValue(value);
  }
  if (token.kind == Token::kNumber || token.is("inf") || token.is("nan")) {
    BYOC_TRY(double value, parse_double(in));
    return AttrValue(value);
  }
  if (token.is("true") || token.is("false")) return AttrValue(in.take().is("true"));
  if (in.take_if("const")) {
    BYOC_TRY(ParsedConstant constant, parse_constant(in, context));
    return AttrValue(ConstantRef{constant.data->key(), constant.type});
  }
  auto dtype = token.kind == Token::kName ? parse_dtype(token.text) : std::nullopt;
  if (!dtype) return in.expected("an attribute value");
  in.advance();
  return AttrValue(*dtype);
}

template <class T>
std::optional<std::vector<T>> all_of_kind(const std::vector<AttrValue>& values) {
  std::vector<T> out;
  for (const AttrValue& value : values) {
    if (auto* typed = std::get_if<T>(&value)) out.push_back(*typed);
    else return std::nullopt;
  }
  return out;
}

// Returns floats when one value is a float and all are numbers.
std::optional<Floats> all_numbers(const std::vector<AttrValue>& values) {
  Floats out;
  for (const AttrValue& value : values) {
    if (auto* integer = std::get_if<int64_t>(&value)) out.push_back(static_cast<double>(*integer));
    else if (auto* number = std::get_if<double>(&value)) out.push_back(*number);
    else return std::nullopt;
  }
  return out;
}

// Parses a list after its opening bracket.
Result<AttrValue> parse_list(Lexer& in, ParseContext& context) {
  Token open = in.token();
  std::vector<AttrValue> values;
  while (!in.take_if("]")) {
    if (!values.empty()) BYOC_TRY_STATUS(in.expect(","));
    BYOC_TRY(AttrValue value, parse_scalar(in, context));
    values.push_back(std::move(value));
    if (!in.token().is(",") && !in.token().is("]")) return in.expected("',' or ']'");
  }
  if (auto list = all_of_kind<int64_t>(values)) return AttrValue(*list);
  if (auto list = all_numbers(values)) return AttrValue(*list);
  if (auto list = all_of_kind<std::string>(values)) return AttrValue(*list);
  if (auto list = all_of_kind<bool>(values)) return AttrValue(*list);
  return in.error(open, "a list holds integers, floats, strings or bools, all of one kind");
}

}  // namespace

Result<int64_t> parse_integer(Lexer& in, int64_t min, int64_t max) {
  int64_t value = 0;
  if (in.token().kind != Token::kNumber || !convert(in.token().text, value) || value < min ||
      value > max) {
    std::string_view what = min == INT64_MIN ? "an integer of 64 bits" : "a number";
    if (min == INT64_MIN || min == 0) return in.expected(what);
    return in.expected(cat(what, " of at least ", min));
  }
  in.advance();
  return value;
}

Result<std::string> parse_string(Lexer& in) {
  if (in.token().kind != Token::kString) return in.expected("a quoted string");
  Token token = in.take();
  return in.name(token);
}

Result<TensorType> parse_type(Lexer& in, NamedDims& dims) {
  Token start = in.token();
  auto dtype = start.kind == Token::kName ? parse_dtype(start.text) : std::nullopt;
  if (!dtype) return in.expected("a type such as f32[1,3]");
  in.advance();
  BYOC_TRY_STATUS(in.expect("["));
  TensorType type{*dtype, {}};
  while (!in.take_if("]")) {
    if (!type.shape.empty()) BYOC_TRY_STATUS(in.expect(","));
    BYOC_TRY(Dim dim, parse_dim(in, dims));
    type.shape.push_back(dim);
    if (!in.token().is(",") && !in.token().is("]")) return in.expected("',' or ']'");
  }
  if (type.shape.size() > kMaxRank) {
    return in.error(
        start, cat(type, " has ", type.shape.size(), " dims, at most ", kMaxRank, " are possible"));
  }
  if (is_static(type.shape)) {
    auto bytes = size_bytes(type);
    if (!bytes.ok()) return std::move(bytes.status()).at(in.place(start));
  }
  return type;
}

Result<AttrValue> parse_attr_value(Lexer& in, ParseContext& context) {
  return in.take_if("[") ? parse_list(in, context) : parse_scalar(in, context);
}

bool at_attrs(const Lexer& in) {
  if (!in.token().is("{")) return false;
  Lexer ahead = in;
  ahead.advance();
  if (ahead.token().kind == Token::kName || ahead.token().kind == Token::kString) {
    ahead.advance();
    return ahead.token().is("=");
  }
  if (!ahead.take_if("}")) return false;
  return ahead.token().is("{");  // "{} {": attributes, then a body
}

Result<Attrs> parse_attrs(Lexer& in, ParseContext& context, const SpecialEntry& special) {
  BYOC_TRY_STATUS(in.expect("{"));
  Attrs attrs;
  for (bool first = true; !in.take_if("}"); first = false) {
    if (!first) BYOC_TRY_STATUS(in.expect(","));
    Token token = in.token();
    if (token.kind != Token::kName && token.kind != Token::kString) {
      return in.expected("the name of an attribute");
    }
    in.advance();
    std::string name = in.name(token);
    BYOC_TRY_STATUS(in.expect("="));
    if (special) {
      BYOC_TRY(bool taken, special(name));
      if (taken) continue;
    }
    if (attrs.has(name)) return in.error(token, cat("attribute ", name, " occurs twice"));
    BYOC_TRY(AttrValue value, parse_attr_value(in, context));
    attrs.set(name, std::move(value));
    if (!in.token().is(",") && !in.token().is("}")) return in.expected("',' or '}'");
  }
  return attrs;
}

}  // namespace byoc
