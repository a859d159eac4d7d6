// SPDX-License-Identifier: Apache-2.0
// Parses the whole text: module attributes, functions in any order, bodies callees first. Loop
// functions call nothing, so they are complete when they have been scanned.
#include "byoc/base/check.h"
#include "byoc/ir/visit.h"
#include "byoc/te/module.h"
#include "byoc/te/text.h"
#include "core/text/parse/parser.h"

namespace byoc {
namespace {

class ModuleParser {
 public:
  ModuleParser(std::string_view text, const OpRegistry& ops, const ConstantSource& constants)
      : in_(text), context_{ops, constants, module_, {}} {}
  Result<IRModule> parse();

 private:
  Status parse_header();
  Status scan_functions();
  Status scan_function();
  Status scan_loops();
  Status check_new(Symbol name, const Token& start) const;
  Status skip_body(Symbol caller);
  Status check_callees();
  Status parse_bodies();
  Status choose_entry();

  struct Callee {
    Symbol name;
    Token token;
  };
  Lexer in_;
  IRModule module_;
  ParseContext context_;
  IRModule calls_;  // the calls between functions and bodies: Invokes alone
  std::vector<Callee> callees_;
  std::map<Symbol, FunctionText> texts_;
  bool has_braces_ = false, has_entry_ = false;
};

Status ModuleParser::parse_header() {
  has_braces_ = in_.take_if("module");
  if (!has_braces_) return {};
  if (at_attrs(in_)) {
    auto special = [&](const std::string& name) -> Result<bool> {
      if (name == "external_mods") {
        BYOC_TRY_STATUS(parse_external_modules(in_, context_));
        return true;
      }
      if (name != "entry") return false;
      BYOC_TRY(module_.entry, parse_string(in_));
      return has_entry_ = true;
    };
    BYOC_TRY(module_.attrs, parse_attrs(in_, context_, special));
  }
  return in_.expect("{");
}

Status ModuleParser::scan_functions() {
  while (true) {
    if (in_.take_if("fn")) BYOC_TRY_STATUS(scan_function());
    else if (in_.token().is("loops") || in_.token().is("te")) BYOC_TRY_STATUS(scan_loops());
    else break;
  }
  if (!has_braces_) {
    return in_.token().kind == Token::kEnd ? Status() : in_.expected("'fn' or 'loops'");
  }
  if (!in_.take_if("}")) return in_.expected("'fn', 'loops' or '}'");
  return in_.token().kind == Token::kEnd ? Status() : in_.expected("the end of the text");
}

Status ModuleParser::scan_function() {
  Token start = in_.token();
  BYOC_TRY(FunctionText text, parse_signature(in_, context_));
  Symbol name = text.name;
  BYOC_TRY_STATUS(check_new(name, start));
  texts_.emplace(name, std::move(text));
  return skip_body(name);
}

Status ModuleParser::check_new(Symbol name, const Token& start) const {
  if (!texts_.contains(name) && module_.find(name) == nullptr) return {};
  return in_.error(start, cat("@", name, " is defined twice"));
}

// Parses loops f(x: f32[8]) -> (y: f32[8]) { ... } {compiler="llvm"}, or tensor expressions that
// become loops; attributes come last.
Status ModuleParser::scan_loops() {
  const Token start = in_.token();
  size_t at = in_.offset(start);
  BYOC_TRY(te::LoopFunction loops, te::parse_loops(in_.text(), at));
  in_.jump(at);
  Attrs attrs;
  if (in_.token().is("{")) {
    BYOC_TRY(attrs, parse_attrs(in_, context_));
  }
  const Symbol name = loops.name;
  BYOC_TRY_STATUS(check_new(name, start));
  Result<Function> function = te::function_of(loops);
  if (!function.ok()) return std::move(function.status()).at(in_.place(start));
  for (const auto& [key, value] : attrs) {
    if (function->attrs.has(key))
      return in_.error(start, cat("the attribute ", key, " of loops is not for users"));
    function->attrs.set(key, value);
  }
  module_.functions.emplace(name, *std::move(function));
  calls_.functions[name];
  return {};
}

Status ModuleParser::skip_body(Symbol caller) {
  Function& calls = calls_.functions[caller];
  bool after_equals = false, in_control = false;
  for (int depth = 1; depth > 0;) {
    Token token = in_.token();
    if (token.kind == Token::kEnd || token.kind == Token::kBad) return in_.expected("'}'");
    depth += token.is("{") ? 1 : token.is("}") ? -1 : 0;
    if (after_equals && (token.is("if") || token.is("loop"))) in_control = true;
    if (token.is(")")) in_control = false;
    if ((after_equals || in_control) && token.kind == Token::kSymbol) {
      Symbol callee = in_.name(token);
      calls.add_invoke(callee, {}, {});
      callees_.push_back({callee, token});
    }
    after_equals = token.is("=");
    in_.advance();
  }
  return {};
}

Status ModuleParser::check_callees() {
  for (const Callee& callee : callees_) {
    if (calls_.find(callee.name) != nullptr) continue;
    return invalid(cat("the module has no function @", callee.name))
        .with_slug("unknown-function")
        .at(in_.place(callee.token));
  }
  return {};
}

Status ModuleParser::parse_bodies() {
  BYOC_TRY(std::vector<Symbol> order, callees_first(calls_));
  for (Symbol name : order) {
    auto text = texts_.extract(name);
    if (text.empty()) continue;  // loops
    auto function = parse_body(std::move(text.mapped()), context_);
    if (!function.ok()) return std::move(function.status());
    module_.functions.emplace(name, *std::move(function));
  }
  BYOC_CHECK(texts_.empty(), texts_.size(), " functions were not parsed");
  return {};
}

Status ModuleParser::choose_entry() {
  if (!has_entry_ && module_.find("main") == nullptr && module_.functions.size() == 1) {
    module_.entry = module_.functions.begin()->first;
  }
  if (module_.find(module_.entry) != nullptr) return {};
  if (module_.functions.empty() && !has_entry_)
    return invalid("the module is empty: it has no function")
        .with_slug("no-entry")
        .with_help("was the file written whole? byoc print MODEL writes such files");
  return invalid(cat("the module has no entry function @", module_.entry))
      .with_slug("no-entry")
      .with_help("name one: module {entry=\"...\"} { ... }");
}

Result<IRModule> ModuleParser::parse() {
  BYOC_TRY_STATUS(parse_header());
  BYOC_TRY_STATUS(scan_functions());
  BYOC_TRY_STATUS(check_callees());
  BYOC_TRY_STATUS(parse_bodies());
  BYOC_TRY_STATUS(choose_entry());
  BYOC_TRY_STATUS(verify(module_));  // checks what the grammar cannot, such as captures
  return std::move(module_);
}

}  // namespace

Result<IRModule> parse_module(std::string_view text, const OpRegistry& ops,
                              const ConstantSource& constants) {
  return ModuleParser(text, ops, constants).parse();
}

}  // namespace byoc
