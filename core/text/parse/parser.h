// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parts of the parser. It walks over the text twice: the first walk reads the signature of each
// function and skips its body, the second reads the bodies, callees first, with type inference.
#include <map>

#include "byoc/text/text.h"
#include "core/text/infer_cache.h"
#include "core/text/parse/lexer.h"

namespace byoc {

struct ParseContext {
  const OpRegistry& ops;
  const ConstantSource& constants;
  IRModule& module;
  InferCache types;
};

/// The named dims of a function; a name has one meaning in it.
using NamedDims = std::map<Symbol, Dim>;

// parse_values.cc
Result<TensorType> parse_type(Lexer& in, NamedDims& dims);
Result<int64_t> parse_integer(Lexer& in, int64_t min, int64_t max);
Result<std::string> parse_string(Lexer& in);
/// Parses 1, 1.5, true, "text", f32, const<key> : type, or a list of single values
/// without constants.
Result<AttrValue> parse_attr_value(Lexer& in, ParseContext& context);
/// Returns true at "{name=" and "{}": attributes, and not a body.
bool at_attrs(const Lexer& in);
/// Parses "{a=1, b=[2,3]}"; `special` may read an entry itself and then returns true.
using SpecialEntry = std::function<Result<bool>(const std::string& name)>;
Result<Attrs> parse_attrs(Lexer& in, ParseContext& context, const SpecialEntry& special = nullptr);

// parse_constant.cc
struct ParsedConstant {
  TypeId type;
  const Buffer* data;
};
/// Parses a constant after the word `const`.
Result<ParsedConstant> parse_constant(Lexer& in, ParseContext& context);
/// Reads a key, in quotes or bare, and its bytes, from the module's pool or the source.
Result<std::shared_ptr<const Buffer>> parse_stored_key(Lexer& in, ParseContext& context);

// parse_external.cc
/// Parses the list after `external_mods=`.
Status parse_external_modules(Lexer& in, ParseContext& context);

// parse_function.cc
/// The signature of a function, with the place of its body.
struct FunctionText {
  Symbol name;
  Function function;  // parameters and attributes
  NamedDims dims;
  Lexer body;  // after the opening brace
};
/// Parses a function after `fn`, up to the opening brace of its body.
Result<FunctionText> parse_signature(Lexer& in, ParseContext& context);
/// Parses statements up to and including the closing brace.
Result<Function> parse_body(FunctionText text, ParseContext& context);
/// Parses `loc("...")` or nothing.
Result<Symbol> parse_loc(Lexer& in);

}  // namespace byoc
