// SPDX-License-Identifier: Apache-2.0
// Parses external_mods=[{plugin="...", symbols=[...], key="...", functions=[{...}]}]: one table of
// fields per record, with the names that print_external.cc prints.
#include "core/text/parse/parser.h"

namespace byoc {
namespace {

// Reads the value of one field.
using Field = std::function<Status()>;
using Fields = std::map<std::string_view, Field>;

// Parses `{name=value, ...}`: any order, each at most once, all may be left out.
Status parse_record(Lexer& in, Fields fields) {
  BYOC_TRY_STATUS(in.expect("{"));
  for (bool first = true; !in.take_if("}"); first = false) {
    if (!first) BYOC_TRY_STATUS(in.expect(","));
    auto field = fields.extract(in.token().text);
    if (field.empty()) return in.expected("a field that has not been given yet");
    in.advance();
    BYOC_TRY_STATUS(in.expect("="));
    BYOC_TRY_STATUS(field.mapped()());
    if (!in.token().is(",") && !in.token().is("}")) return in.expected("',' or '}'");
  }
  return {};
}

Status parse_items(Lexer& in, const Field& item) {
  BYOC_TRY_STATUS(in.expect("["));
  for (bool first = true; !in.take_if("]"); first = false) {
    if (!first) BYOC_TRY_STATUS(in.expect(","));
    BYOC_TRY_STATUS(item());
  }
  return {};
}

Field text(Lexer& in, std::string& to) {
  return [&]() -> Status {
    BYOC_TRY(to, parse_string(in));
    return {};
  };
}

template <class T>
Field number(Lexer& in, T& to) {
  return [&]() -> Status {
    constexpr int64_t kMax = sizeof(T) < 8 ? static_cast<int64_t>(T(-1)) : INT64_MAX;
    BYOC_TRY(int64_t value, parse_integer(in, 0, kMax));
    to = static_cast<T>(value);
    return {};
  };
}

Field stored_key(Lexer& in, ParseContext& context, ContentKey& key) {
  return [&]() -> Status {
    BYOC_TRY(auto data, parse_stored_key(in, context));
    key = context.module.add_constant(std::move(data))->key();
    return {};
  };
}

Status parse_spec(Lexer& in, TensorSpec& spec) {
  Token start = in.token();
  NamedDims dims;
  BYOC_TRY(TensorType type, parse_type(in, dims));
  if (!is_static(type.shape)) return in.error(start, cat(type, ": the dims must be numbers"));
  spec = {type.dtype, static_extents(type.shape)};
  return {};
}

Status parse_constant_record(Lexer& in, ParseContext& context, ExternalFunction& function) {
  ExternalConstant& constant = function.constants.emplace_back();
  return parse_record(in, {{"name", text(in, constant.name)},
                           {"key", stored_key(in, context, constant.key)},
                           {"type", [&] { return parse_spec(in, constant.type); }},
                           {"use", number(in, constant.use)}});
}

Status parse_packed(Lexer& in, ParseContext& context, ExternalFunction& function) {
  auto& packed = function.packed.emplace_back();
  return parse_record(
      in, {{"key", stored_key(in, context, packed.first)}, {"align", number(in, packed.second)}});
}

Status parse_named(Lexer& in, ParseContext& context, ExternalModule& module) {
  auto& [name, key] = module.packed.emplace_back();
  auto parse_name = [&in, &name = name]() -> Status {
    const Token start = in.token();
    BYOC_TRY(std::string hex, parse_string(in));
    return ContentKey::parse(hex, name) ? Status() : in.error(start, "expected 32 hex digits");
  };
  return parse_record(in, {{"name", parse_name}, {"key", stored_key(in, context, key)}});
}

Status parse_inplace(Lexer& in, ExternalFunction& function) {
  auto& pair = function.inplace.emplace_back();
  return parse_record(in, {{"input", number(in, pair.first)}, {"output", number(in, pair.second)}});
}

Status parse_flops(Lexer& in, ParseContext& context, double& flops) {
  Lexer start = in;
  BYOC_TRY(AttrValue value, parse_attr_value(in, context));
  if (auto* number = std::get_if<double>(&value)) flops = *number;
  else if (auto* integer = std::get_if<int64_t>(&value)) flops = static_cast<double>(*integer);
  else return start.expected("a number");
  return {};
}

// A list of the user's names.
Field names(Lexer& in, std::vector<std::string>& to) {
  return [&] { return parse_items(in, [&] { return text(in, to.emplace_back())(); }); };
}

Status parse_alias(Lexer& in, ExternalFunction& function) {
  ExternalAlias& alias = function.aliases.emplace_back();
  return parse_record(in, {{"symbol", text(in, alias.symbol)}, {"locs", names(in, alias.locs)}});
}

Status parse_function(Lexer& in, ParseContext& context, ExternalFunction& function) {
  auto list = [&](auto parse) { return [&in, parse] { return parse_items(in, parse); }; };
  return parse_record(
      in, {{"n_in", number(in, function.n_in)},
           {"n_out", number(in, function.n_out)},
           {"constants", list([&] { return parse_constant_record(in, context, function); })},
           {"packed", list([&] { return parse_packed(in, context, function); })},
           {"inplace", list([&] { return parse_inplace(in, function); })},
           {"workspace_bytes", number(in, function.workspace_bytes)},
           {"workspace_align", number(in, function.workspace_align)},
           {"flags", number(in, function.flags)},
           {"device", list([&] { return number(in, function.device.emplace_back())(); })},
           {"placement", list([&] { return number(in, function.placement.emplace_back())(); })},
           {"implementation", text(in, function.implementation)},
           {"flops", [&] { return parse_flops(in, context, function.flops); }},
           {"ops", number(in, function.ops)},
           {"locs", names(in, function.locs)},
           {"aliases", list([&] { return parse_alias(in, function); })}});
}

Status parse_module_record(Lexer& in, ParseContext& context) {
  Token start = in.token();
  ExternalModule module;
  std::vector<std::string> symbols;
  auto blob = [&]() -> Status {
    BYOC_TRY(module.blob, parse_stored_key(in, context));
    return {};
  };
  auto symbol = [&] { return text(in, symbols.emplace_back())(); };
  auto packed = [&] { return parse_named(in, context, module); };
  auto function = [&] { return parse_function(in, context, module.functions.emplace_back()); };
  BYOC_TRY_STATUS(parse_record(in, {{"plugin", text(in, module.plugin)},
                                    {"symbols", [&] { return parse_items(in, symbol); }},
                                    {"key", blob},
                                    {"version", text(in, module.plugin_version)},
                                    {"compat", text(in, module.compat)},
                                    {"options", text(in, module.options_json)},
                                    {"flags", number(in, module.flags)},
                                    {"packed", [&] { return parse_items(in, packed); }},
                                    {"functions", [&] { return parse_items(in, function); }}}));
  if (symbols.size() != module.functions.size()) {
    return in.error(start, cat(symbols.size(), " symbols and ", module.functions.size(),
                               " functions in one external module"));
  }
  for (size_t k = 0; k < symbols.size(); ++k) module.functions[k].symbol = std::move(symbols[k]);
  context.module.external_mods.push_back(std::move(module));
  return {};
}

}  // namespace

Status parse_external_modules(Lexer& in, ParseContext& context) {
  return parse_items(in, [&] { return parse_module_record(in, context); });
}

}  // namespace byoc
