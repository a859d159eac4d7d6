// SPDX-License-Identifier: Apache-2.0
// Parses const<key> : type, const([1,2]) : type, const(0.5) : type.
#include <cstring>

#include "byoc/base/check.h"
#include "byoc/base/literal.h"
#include "core/text/parse/parser.h"

namespace byoc {
namespace {

// The limit to which one value written by hand may be repeated: a typing error must
// not use all memory.
constexpr int64_t kMaxRepeatedBytes = int64_t{1} << 30;

Status no_bytes(const Lexer& in, const Token& token, const ContentKey& key) {
  return invalid(cat("const<", key, "> has no bytes here"))
      .with_slug("ir-constant")
      .with_help("large constants are in a file x.ir.weights beside x.ir")
      .at(in.place(token));
}

struct Elements {
  std::vector<Token> tokens;
  bool is_list = false;
};

// Parses the elements after "const(", and the ")".
Result<Elements> parse_elements(Lexer& in) {
  Elements out;
  out.is_list = in.take_if("[");
  while (!in.token().is(out.is_list ? "]" : ")")) {
    if (!out.tokens.empty()) BYOC_TRY_STATUS(in.expect(","));
    if (in.token().kind != Token::kNumber && in.token().kind != Token::kName) {
      return in.expected("an element of the constant");
    }
    out.tokens.push_back(in.take());
  }
  if (out.is_list) in.advance();
  BYOC_TRY_STATUS(in.expect(")"));
  if (!out.is_list && out.tokens.size() != 1)
    return in.expected("one value, or a list [...] before this");
  return out;
}

Result<std::shared_ptr<const Buffer>> make_data(Lexer& in, const Elements& elements,
                                                const TensorType& type) {
  BYOC_TRY(int64_t n, num_elements(type.shape));
  size_t size = dtype_size(type.dtype), count = elements.tokens.size();
  const Token& first = count ? elements.tokens[0] : in.token();
  if (elements.is_list && static_cast<int64_t>(count) != n) {
    return in.error(first, cat(count, " elements for ", type, ", which has ", n));
  }
  if (n > kMaxRepeatedBytes / static_cast<int64_t>(size)) {
    return in.error(first, cat("a value repeated to ", type, " takes more than 1 GiB"));
  }
  std::vector<std::byte> values(count * size);
  for (size_t k = 0; k < count; ++k) {
    if (!parse_element(elements.tokens[k].text, type.dtype, values.data() + k * size)) {
      return in.error(elements.tokens[k], cat(elements.tokens[k].text, " is no ", type.dtype));
    }
  }
  BYOC_CHECK(elements.is_list || count == 1, count, " values to repeat");
  return Buffer::make(static_cast<size_t>(n) * size, [&](std::byte* to) {
    for (size_t at = 0; at < static_cast<size_t>(n) * size; at += size) {
      std::memcpy(to + at, values.data() + (elements.is_list ? at : 0), size);
    }
  });
}

Result<TensorType> parse_static_type(Lexer& in) {
  BYOC_TRY_STATUS(in.expect(":"));
  Token start = in.token();
  NamedDims dims;
  BYOC_TRY(TensorType type, parse_type(in, dims));
  if (!is_static(type.shape))
    return in.error(start, cat("a constant of type ", type, ": its dims must be numbers"));
  return type;
}

}  // namespace

Result<std::shared_ptr<const Buffer>> parse_stored_key(Lexer& in, ParseContext& context) {
  ContentKey key;
  Token token = in.token();
  if (token.kind == Token::kBad || !ContentKey::parse(in.name(token), key))
    return in.expected("a key of 32 digits 0-9a-f");
  in.advance();
  auto known = context.module.constants.find(key);
  if (known != context.module.constants.end()) return known->second;
  std::shared_ptr<const Buffer> data = context.constants ? context.constants(key) : nullptr;
  if (data == nullptr) return no_bytes(in, token, key);
  return data;
}

Result<ParsedConstant> parse_constant(Lexer& in, ParseContext& context) {
  Token start = in.token();
  if (in.take_if("<")) {
    BYOC_TRY(std::shared_ptr<const Buffer> data, parse_stored_key(in, context));
    BYOC_TRY_STATUS(in.expect(">"));
    BYOC_TRY(TensorType type, parse_static_type(in));
    BYOC_TRY(int64_t bytes, size_bytes(type));
    if (data->size() == static_cast<size_t>(bytes)) {
      return ParsedConstant{type, context.module.add_constant(std::move(data))};
    }
    return in.error(start, cat("const<", data->key(), "> has ", data->size(), " bytes, ", type,
                               " takes ", bytes));
  }
  if (!in.take_if("(")) return in.expected("'<key>' or '(values)'");
  BYOC_TRY(Elements elements, parse_elements(in));
  BYOC_TRY(TensorType type, parse_static_type(in));
  BYOC_TRY(auto data, make_data(in, elements, type));
  return ParsedConstant{type, context.module.add_constant(std::move(data))};
}

}  // namespace byoc
