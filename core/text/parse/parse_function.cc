// SPDX-License-Identifier: Apache-2.0
// Parses fn name(%x: f32[1,3]) {attrs} { statements return %2 }.
#include <charconv>
#include <unordered_map>

#include "byoc/base/check.h"
#include "core/text/parse/parser.h"

namespace byoc {
namespace {

bool is_name(const Token& token) {
  return token.kind == Token::kName || token.kind == Token::kString;
}

class BodyParser {
 public:
  BodyParser(FunctionText text, ParseContext& context)
      : context_(context),
        in_(text.body),
        function_(std::move(text.function)),
        dims_(std::move(text.dims)) {
    size_t params = function_.num_params();
    BYOC_CHECK(params == function_.nodes.size(), "a signature has parameters only");
    for (uint32_t k = 0; k < params; ++k) {
      named_.emplace(std::get<Param>(function_.nodes[k].kind).name.str(), k);
    }
  }
  Result<Function> parse();

 private:
  Status parse_statement();
  Result<uint32_t> parse_right_side();
  Result<uint32_t> parse_constant_node();
  Result<uint32_t> parse_call(const Token& name);
  Result<uint32_t> parse_invoke();
  Result<uint32_t> parse_extern();
  Result<uint32_t> parse_control(Control::Action action);
  Result<std::vector<TypeId>> parse_result_types();
  Status define(const Token& token, uint32_t node);
  Result<ValueId> parse_value();
  Status parse_values_until_close(std::vector<ValueId>& values);
  std::optional<uint32_t> find(const Token& token) const;
  std::vector<TypeId> types_of(const std::vector<ValueId>& values) const;

  ParseContext& context_;
  Lexer in_;
  Function function_;
  NamedDims dims_;
  std::unordered_map<std::string, uint32_t> named_;  // %x, %"input.1"
  std::unordered_map<uint64_t, uint32_t> numbered_;  // %3
};

Result<Function> BodyParser::parse() {
  while (!in_.take_if("return")) BYOC_TRY_STATUS(parse_statement());
  if (!in_.token().is("}")) {
    do {
      BYOC_TRY(ValueId value, parse_value());
      function_.results.push_back(value);
    } while (in_.take_if(","));
  }
  BYOC_TRY_STATUS(in_.expect("}"));
  return std::move(function_);
}

Status BodyParser::parse_statement() {
  Token target = in_.token();
  if (target.kind != Token::kValue) return in_.expected("'%name = ...' or 'return'");
  in_.advance();
  BYOC_TRY_STATUS(in_.expect("="));
  BYOC_TRY(uint32_t node, parse_right_side());
  BYOC_TRY(function_.nodes[node].loc, parse_loc(in_));
  return define(target, node);
}

Result<uint32_t> BodyParser::parse_right_side() {
  if (in_.token().kind == Token::kSymbol) return parse_invoke();
  if (in_.token().kind != Token::kName)
    return in_.expected("an op, const, call_dps_packed or @function");
  Token name = in_.take();
  if (name.is("const")) return parse_constant_node();
  if (name.is("call_dps_packed")) return parse_extern();
  if (name.is("if")) return parse_control(Control::kIf);
  if (name.is("loop")) return parse_control(Control::kLoop);
  return parse_call(name);
}

Result<uint32_t> BodyParser::parse_constant_node() {
  BYOC_TRY(ParsedConstant constant, parse_constant(in_, context_));
  return function_.add_constant(constant.data, constant.type);
}

Result<uint32_t> BodyParser::parse_call(const Token& name) {
  auto op = context_.ops.get(name.text);
  if (!op.ok()) return std::move(op.status()).at(in_.place(name));
  std::vector<ValueId> args;
  BYOC_TRY_STATUS(in_.expect("("));
  BYOC_TRY_STATUS(parse_values_until_close(args));
  Attrs given;
  if (in_.token().is("{")) {
    BYOC_TRY(given, parse_attrs(in_, context_));
  }
  auto attrs = complete_attrs(**op, std::move(given));
  if (!attrs.ok()) return std::move(attrs.status()).at(in_.place(name));
  const Attrs* shared = intern(*std::move(attrs));
  auto types = context_.types.infer(**op, shared, types_of(args));
  if (!types.ok()) return std::move(types.status()).at(in_.place(name));
  return function_.add_call(*op, shared, args, *types);
}

Result<uint32_t> BodyParser::parse_invoke() {
  Token callee = in_.take();
  Symbol name = in_.name(callee);
  std::vector<ValueId> args;
  BYOC_TRY_STATUS(in_.expect("("));
  BYOC_TRY_STATUS(parse_values_until_close(args));
  FunctionSignature callee_type = signature(context_.module.function(name));
  if (callee_type.params.size() != args.size()) {
    return in_.error(callee, cat("@", name, " takes ", callee_type.params.size(), " values, ",
                                 args.size(), " are given"));
  }
  for (size_t k = 0; k < args.size(); ++k) {
    TypeId given = function_.type(args[k]);
    if (given == callee_type.params[k]) continue;
    return in_.error(callee, cat("operand ", k, " of @", name, " is ", callee_type.params[k], ", ",
                                 given, " is given"));
  }
  return function_.add_invoke(name, args, callee_type.results);
}

Result<uint32_t> BodyParser::parse_extern() {
  BYOC_TRY_STATUS(in_.expect("("));
  if (in_.token().kind != Token::kSymbol)
    return in_.expected("the '@symbol' of an external function");
  Token token = in_.take();
  std::vector<ValueId> args;
  if (in_.take_if(",")) BYOC_TRY_STATUS(parse_values_until_close(args));
  else BYOC_TRY_STATUS(in_.expect(")"));
  BYOC_TRY(std::vector<TypeId> types, parse_result_types());
  return function_.add_extern(in_.name(token), args, types);
}

// Parses ": f32[2], i64[]", or nothing.
Result<std::vector<TypeId>> BodyParser::parse_result_types() {
  std::vector<TypeId> types;
  if (!in_.take_if(":")) return types;
  do {
    BYOC_TRY(TensorType type, parse_type(in_, dims_));
    types.push_back(type);
  } while (in_.take_if(","));
  return types;
}

// Parses (%c, @then, @else, %x) : types, or (%n, %c, @body, %v, %x) {carried=1} : types.
Result<uint32_t> BodyParser::parse_control(Control::Action action) {
  Control control{action, 0, {}, {}, {}};
  std::vector<ValueId> args;
  BYOC_TRY_STATUS(in_.expect("("));
  for (uint32_t k = 0; k < control.conditions(); ++k) {
    BYOC_TRY(ValueId condition, parse_value());
    args.push_back(condition);
    BYOC_TRY_STATUS(in_.expect(","));
  }
  for (Symbol* body : {&control.body, &control.otherwise}) {
    if (body == &control.otherwise && action == Control::kLoop) break;
    if (body == &control.otherwise) BYOC_TRY_STATUS(in_.expect(","));
    if (in_.token().kind != Token::kSymbol) return in_.expected("the '@name' of a body");
    *body = in_.name(in_.take());
  }
  if (in_.take_if(",")) BYOC_TRY_STATUS(parse_values_until_close(args));
  else BYOC_TRY_STATUS(in_.expect(")"));
  if (action == Control::kLoop) {
    for (std::string_view word : {"{", "carried", "="}) BYOC_TRY_STATUS(in_.expect(word));
    BYOC_TRY(int64_t carried, parse_integer(in_, 0, UINT32_MAX));
    control.carried = static_cast<uint32_t>(carried);
    BYOC_TRY_STATUS(in_.expect("}"));
  }
  BYOC_TRY(std::vector<TypeId> types, parse_result_types());
  return function_.add_control(control, args, types);
}

Status BodyParser::parse_values_until_close(std::vector<ValueId>& values) {
  if (in_.take_if(")")) return {};
  do {
    BYOC_TRY(ValueId value, parse_value());
    values.push_back(value);
  } while (in_.take_if(","));
  if (in_.take_if(")")) return {};
  return in_.expected("',' or ')'");
}

std::optional<uint64_t> number_of(const Token& token) {
  uint64_t number = 0;
  BYOC_CHECK(token.is_numbered(), token.text, " is no number");
  const char* end = token.text.data() + token.text.size();
  auto result = std::from_chars(token.text.data() + 1, end, number);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return number;
}

Status BodyParser::define(const Token& token, uint32_t node) {
  BYOC_CHECK(node + 1 == function_.nodes.size(), "node ", node, " is not the last");
  bool is_new = false;
  if (token.is_numbered()) {
    auto number = number_of(token);
    if (!number)
      return in_.error(token, cat("a value's name is a word or a number, found ", token.text));
    is_new = numbered_.emplace(*number, node).second;
  } else {
    is_new = named_.emplace(in_.name(token), node).second;
  }
  if (!is_new) return in_.error(token, cat(token.text, " is defined twice"));
  return {};
}

std::optional<uint32_t> BodyParser::find(const Token& token) const {
  if (token.is_numbered()) {
    auto number = number_of(token);
    auto at = number ? numbered_.find(*number) : numbered_.end();
    return at == numbered_.end() ? std::nullopt : std::optional(at->second);
  }
  auto at = named_.find(in_.name(token));
  return at == named_.end() ? std::nullopt : std::optional(at->second);
}

Result<ValueId> BodyParser::parse_value() {
  Token token = in_.token();
  if (token.kind != Token::kValue) return in_.expected("a value such as %x or %3#1");
  in_.advance();
  auto node = find(token);
  if (!node) return in_.error(token, cat(token.text, " is not defined before this"));
  int64_t output = 0;
  if (in_.take_if("#")) {
    BYOC_TRY(output, parse_integer(in_, 0, UINT32_MAX));
  }
  size_t outputs = function_.nodes[*node].types.size();
  if (static_cast<size_t>(output) >= outputs) {
    return in_.error(token, cat(token.text, "#", output, " does not exist: ", token.text, " has ",
                                outputs, outputs == 1 ? " output" : " outputs"));
  }
  return ValueId{*node, static_cast<uint32_t>(output)};
}

std::vector<TypeId> BodyParser::types_of(const std::vector<ValueId>& values) const {
  std::vector<TypeId> types;
  types.reserve(values.size());
  for (ValueId value : values) types.push_back(function_.type(value));
  return types;
}

Status parse_param(Lexer& in, FunctionText& text, std::map<std::string, Token>& names) {
  Token token = in.token();
  if (token.kind != Token::kValue || token.is_numbered()) {
    return in.expected("a parameter such as %x: f32[1,3] (quote a name that is a number: %\"0\")");
  }
  in.advance();
  std::string name = in.name(token);
  if (name.empty()) return in.error(token, "a parameter needs a name");
  if (!names.emplace(name, token).second)
    return in.error(token, cat("two parameters are called ", token.text));
  BYOC_TRY_STATUS(in.expect(":"));
  BYOC_TRY(TensorType type, parse_type(in, text.dims));
  BYOC_TRY(Symbol loc, parse_loc(in));
  text.function.add_param(name, type, loc);
  if (!in.token().is(",") && !in.token().is(")")) return in.expected("',' or ')'");
  return {};
}

}  // namespace

Result<Symbol> parse_loc(Lexer& in) {
  if (!in.take_if("loc")) return Symbol();
  BYOC_TRY_STATUS(in.expect("("));
  BYOC_TRY(std::string loc, parse_string(in));
  BYOC_TRY_STATUS(in.expect(")"));
  return Symbol(loc);
}

Result<FunctionText> parse_signature(Lexer& in, ParseContext& context) {
  if (!is_name(in.token())) return in.expected("the name of a function");
  Token token = in.take();
  FunctionText text{in.name(token), {}, {}, in};
  if (text.name.empty()) return in.error(token, "a function needs a name");
  BYOC_TRY_STATUS(in.expect("("));
  std::map<std::string, Token> names;
  for (bool first = true; !in.take_if(")"); first = false) {
    if (!first) BYOC_TRY_STATUS(in.expect(","));
    BYOC_TRY_STATUS(parse_param(in, text, names));
  }
  if (at_attrs(in)) {
    BYOC_TRY(text.function.attrs, parse_attrs(in, context));
  }
  BYOC_TRY_STATUS(in.expect("{"));
  text.body = in;
  return text;
}

Result<Function> parse_body(FunctionText text, ParseContext& context) {
  return BodyParser(std::move(text), context).parse();
}

}  // namespace byoc
