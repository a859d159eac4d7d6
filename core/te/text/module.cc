// SPDX-License-Identifier: Apache-2.0
// Loop functions as functions of a module. The attribute has the text after the name, so that equal
// loops have equal texts whatever they are called.
#include "byoc/te/module.h"

#include <algorithm>

#include "byoc/te/text.h"

namespace byoc::te {
namespace {

constexpr std::string_view kHead = "loops f";

const std::string* text_of(const Function& function) {
  const AttrValue* value = function.attrs.find("loops");
  return value == nullptr ? nullptr : std::get_if<std::string>(value);
}

// Equal symbols have equal loops, so that equal functions are compiled once.
Symbol symbol_of(const std::string& text) {
  return cat("loops.", content_key(std::as_bytes(std::span(text))).hex());
}

Result<TypeId> type_of(const Tensor& tensor) {
  TensorType type{tensor.dtype(), {}};
  for (const Expr& extent : tensor.shape()) {
    Result<Dim> dim = dim_of(extent);
    if (!dim.ok())
      return invalid(cat("tensor ", tensor.name(), " has ", dim.status().message()))
          .with_slug("loops-type");
    type.shape.push_back(*dim);
  }
  if (type.shape.size() > kMaxRank) {
    return invalid(cat("tensor ", tensor.name(), " has ", type.shape.size(), " dims, at most ",
                       kMaxRank, " are possible"))
        .with_slug("loops-type");
  }
  if (is_static(type.shape)) BYOC_TRY_STATUS(size_bytes(type).status());
  return TypeId(type);
}

// Checks that every size is in a type: the host gives a kernel the sizes of its types.
Status check_sizes(const LoopFunction& loops) {
  Exprs extents;
  for (const auto* tensors : {&loops.inputs, &loops.outputs})
    for (const Tensor& tensor : *tensors)
      extents.insert(extents.end(), tensor.shape().begin(), tensor.shape().end());
  const std::vector<Var> used = sizes_of(extents);
  for (const Var& size : loops.sizes) {
    if (std::ranges::find(used, size) != used.end()) continue;
    return invalid(cat("no parameter and no result has the size ", size.name()))
        .with_slug("loops-type");
  }
  return {};
}

}  // namespace

Result<Function> function_of(const LoopFunction& loops) {
  LoopFunction named = loops;
  named.name = "f";
  std::string text = print(named);
  BYOC_TRY(LoopFunction parsed, parse_loops(text));  // checks it, and gives tensors distinct names
  if (parsed.outputs.empty())
    return invalid("a loop function has at least one output").with_slug("loops-type");
  BYOC_TRY_STATUS(check_sizes(parsed));
  text = text.substr(kHead.size());
  text.pop_back();  // the line's end
  Function out;
  std::vector<ValueId> args;
  for (const Tensor& input : parsed.inputs) {
    BYOC_TRY(TypeId type, type_of(input));
    args.push_back({out.add_param(input.name(), type), 0});
  }
  std::vector<TypeId> results;
  for (const Tensor& output : parsed.outputs) {
    BYOC_TRY(TypeId type, type_of(output));
    results.push_back(type);
  }
  const uint32_t node = out.add_extern(symbol_of(text), args, results);
  for (uint32_t k = 0; k < results.size(); ++k) out.results.push_back({node, k});
  out.attrs.set("loops", std::move(text));
  out.attrs.set("primitive", true);
  return out;
}

Status add_loops(IRModule& module, Symbol name, const Result<LoopFunction>& loops,
                 const Attrs& attrs) {
  if (!loops.ok()) return loops.status();
  if (name.empty() || module.unique_name(name.text()) != name) {
    return Status(Code::kAlreadyExists, cat("@", name, " is a function already, or no name"))
        .with_slug("loops-name");
  }
  Result<Function> function = function_of(*loops);
  if (!function.ok()) return std::move(function.status()).at(cat("@", name));
  for (const auto& [key, value] : attrs) {
    if (!function->attrs.has(key)) function->attrs.set(key, value);
  }
  module.functions.emplace(name, *std::move(function));
  return {};
}

bool has_loops(const Function& function) { return function.attrs.has("loops"); }

Result<LoopFunction> loops_of(const Function& function, std::string_view name) {
  const std::string* text = text_of(function);
  if (text == nullptr) return invalid("the attribute loops is no text").with_slug("loops-text");
  BYOC_TRY(LoopFunction out, parse_loops(cat(kHead, *text)));
  out.name = name;
  return out;
}

Status check_loops(const Function& function) {
  BYOC_TRY(LoopFunction loops, loops_of(function, "f"));
  BYOC_TRY(Function due, function_of(loops));
  auto wrong = [](std::string message) {
    return invalid(std::move(message)).with_slug("loops-signature");
  };
  if (due.attrs.s("loops") != function.attrs.s("loops"))
    return wrong("the attribute loops is not as the printer writes it");
  if (!function.attrs.has("primitive"))
    return wrong("a function with loops has the attribute primitive");
  const FunctionSignature have = signature(function), expected = signature(due);
  auto words = [](const FunctionSignature& s) {
    return cat(TypeIds(s.params), " -> ", TypeIds(s.results));
  };
  if (have.params != expected.params || have.results != expected.results)
    return wrong(cat("its type is ", words(have), ", that of its loops ", words(expected)));
  bool is_same = function.nodes.size() == due.nodes.size() && function.results == due.results &&
                 function.operands == due.operands;
  for (size_t k = 0; is_same && k < due.num_params(); ++k) {
    const Param* param = std::get_if<Param>(&function.nodes[k].kind);
    is_same = param != nullptr && param->name == std::get<Param>(due.nodes[k].kind).name;
  }
  const Extern* call = is_same ? std::get_if<Extern>(&function.nodes.back().kind) : nullptr;
  if (call != nullptr && call->symbol == std::get<Extern>(due.nodes.back().kind).symbol) return {};
  return wrong("a function with loops has their inputs as parameters, and nothing else inside");
}

}  // namespace byoc::te
