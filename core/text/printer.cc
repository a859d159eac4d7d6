// SPDX-License-Identifier: Apache-2.0
// Prints an IRModule. Deterministic: functions in the order of their names, nodes in their own.
#include "core/text/printer.h"

#include <algorithm>

#include "byoc/base/check.h"
#include "byoc/base/literal.h"
#include "byoc/ir/visit.h"
#include "byoc/text/text.h"
#include "core/ir/quote.h"

namespace byoc {
namespace {

// Also prints modules that verify would refuse, because bug reports show them.
class FunctionPrinter {
 public:
  FunctionPrinter(std::string& out, const Function& function, const PrintOptions& options)
      : out_(out),
        function_(function),
        params_(function.num_params()),
        inline_(std::min(options.elide, kInlineElements)) {}
  void print(Symbol name, std::string_view indent);
  void print_loops(Symbol name, std::string_view text, std::string_view indent);
  void print_value_name(ValueId value);

 private:
  void print_params();
  void print_node(const Node& node);
  void print_kind(const Node& node);
  void print_constant(const Constant& constant, TypeIds types);
  void print_call(const Call& call);
  void print_control(const Control& control, TypeIds types);
  void print_list(std::span<const ValueId> values, std::string_view before);
  void print_types(TypeIds types, std::string_view before = " : ");
  void print_loc(Symbol loc);

  std::string& out_;
  const Function& function_;
  size_t params_, inline_;
};

// Prints a function whose body is loops; what else it has follows from their text.
void FunctionPrinter::print_loops(Symbol name, std::string_view text, std::string_view indent) {
  out_ += cat(indent, "loops ");
  print_name(out_, name.text());
  for (char c : text) {
    out_ += c;
    if (c == '\n') out_ += indent;
  }
  Attrs shown = function_.attrs;
  shown.erase("loops");
  shown.erase("primitive");
  if (!shown.empty()) out_ += ' ';
  print_to(out_, shown);
  out_ += '\n';
}

void FunctionPrinter::print(Symbol name, std::string_view indent) {
  const AttrValue* loops = function_.attrs.find("loops");
  if (const auto* text = loops ? std::get_if<std::string>(loops) : nullptr)
    return print_loops(name, *text, indent);
  out_ += indent;
  out_ += "fn ";
  print_name(out_, name.text());
  print_params();
  if (!function_.attrs.empty()) out_ += ' ';
  print_to(out_, function_.attrs);
  out_ += " {\n";
  for (size_t k = params_; k < function_.nodes.size(); ++k) {
    out_ += cat(indent, "  ");
    print_value_name({static_cast<uint32_t>(k), 0});
    out_ += " = ";
    print_node(function_.nodes[k]);
    out_ += '\n';
  }
  out_ += cat(indent, "  return");
  print_list(function_.results, " ");
  out_ += cat("\n", indent, "}\n");
}

void FunctionPrinter::print_params() {
  out_ += '(';
  for (size_t k = 0; k < params_; ++k) {
    const Node& node = function_.nodes[k];
    if (k) out_ += ", ";
    print_value_name({static_cast<uint32_t>(k), 0});
    print_types(node.types, ": ");
    print_loc(node.loc);
  }
  out_ += ')';
}

// Prints the user's name for a parameter, and a number for all else; a name made of
// digits is quoted.
void FunctionPrinter::print_value_name(ValueId value) {
  out_ += '%';
  const Param* param =
      value.node < params_ ? std::get_if<Param>(&function_.nodes[value.node].kind) : nullptr;
  if (param != nullptr) print_name(out_, param->name.text());
  else out_ += std::to_string(value.node - params_);
  if (value.output != 0) out_ += cat("#", value.output);
}

void FunctionPrinter::print_node(const Node& node) {
  print_kind(node);
  print_loc(node.loc);
}

void FunctionPrinter::print_kind(const Node& node) {
  std::visit(overloaded{
                 [&](const Param& param) { out_ += cat("param(", param.name, ")"); },  // misplaced
                 [&](const Constant& constant) { print_constant(constant, node.types); },
                 [&](const Call& call) { print_call(call); },
                 [&](const Invoke& invoke) {
                   out_ += '@';
                   print_name(out_, invoke.function.text());
                   out_ += '(';
                   print_list(function_.args(invoke.args), "");
                   out_ += ')';
                 },
                 [&](const Extern& external) {
                   out_ += "call_dps_packed(@";
                   print_name(out_, external.symbol.text());
                   print_list(function_.args(external.args), ", ");
                   out_ += ')';
                   print_types(node.types);
                 },
                 [&](const Control& control) { print_control(control, node.types); },
             },
             node.kind);
}

void FunctionPrinter::print_control(const Control& control, TypeIds types) {
  const bool is_if = control.action == Control::kIf;
  std::span<const ValueId> args = function_.args(control.args);
  const size_t conditions = std::min<size_t>(control.conditions(), args.size());
  out_ += is_if ? "if(" : "loop(";
  print_list(args.first(conditions), "");
  for (Symbol body : {control.body, control.otherwise}) {
    if (body.empty()) continue;
    out_ += ", @";
    print_name(out_, body.text());
  }
  print_list(args.subspan(conditions), ", ");
  out_ += is_if ? ")" : cat(") {carried=", control.carried, "}");
  print_types(types);
}

void FunctionPrinter::print_constant(const Constant& constant, TypeIds types) {
  out_ += "const";
  if (constant.data != nullptr && types.size() == 1 &&
      is_inline_constant(*constant.data, *types[0], inline_)) {
    out_ += '(';
    if (types[0]->shape.empty()) print_element(out_, types[0]->dtype, constant.data->data());
    else print_elements(out_, *constant.data, types[0]->dtype, false);
    out_ += ')';
  } else if (constant.data != nullptr && types.size() == 1 &&
             is_one_element(*constant.data, *types[0])) {
    out_ += '(';  // of a larger constant, whose elements were left out
    print_element(out_, types[0]->dtype, constant.data->data());
    out_ += ')';
  } else {
    out_ += cat("<", constant.data ? constant.data->key().hex() : "none", ">");
  }
  print_types(types);
}

bool is_default(const OpDef& op, const Attrs::Entry& entry) {
  for (const AttrSpec& spec : op.attrs) {
    if (spec.name == entry.first.text()) {
      return spec.need == AttrSpec::kHasDefault && attr_equal(spec.fallback, entry.second);
    }
  }
  return false;
}

void FunctionPrinter::print_call(const Call& call) {
  out_ += cat(call.op->name, "(");
  print_list(function_.args(call.args), "");
  out_ += ')';
  Attrs shown;
  for (const Attrs::Entry& entry : *call.attrs) {
    if (!is_default(*call.op, entry)) shown.set(entry.first, entry.second);
  }
  if (!shown.empty()) out_ += ' ';
  print_to(out_, shown);
}

void FunctionPrinter::print_list(std::span<const ValueId> values, std::string_view before) {
  for (ValueId value : values) {
    out_ += before;
    print_value_name(value);
    before = ", ";
  }
}

void FunctionPrinter::print_types(TypeIds types, std::string_view before) {
  if (types.size() > 0) out_ += cat(before, types);
}

void FunctionPrinter::print_loc(Symbol loc) {
  if (loc.empty()) return;
  out_ += " loc(";
  print_quoted(out_, loc.text());
  out_ += ')';
}

void print_module_attrs(std::string& out, const IRModule& module) {
  std::vector<std::string> parts;
  if (module.entry != Symbol("main")) {
    parts.emplace_back("entry=");
    print_quoted(parts.back(), module.entry.text());
  }
  for (const auto& [name, value] : module.attrs) {
    std::string& part = parts.emplace_back();
    print_name(part, name.text());
    part += '=';
    print_to(part, value);
  }
  if (!module.external_mods.empty()) {
    print_external_modules(parts.emplace_back(), module.external_mods);
  }
  for (size_t k = 0; k < parts.size(); ++k) out += cat(k ? ", " : "{", parts[k]);
  if (!parts.empty()) out += "} ";
}

}  // namespace

bool is_inline_constant(const Buffer& data, const TensorType& type, size_t limit) {
  auto n = is_static(type.shape) ? num_elements(type.shape) : Result<int64_t>(int64_t{-1});
  if (!n.ok() || *n < 0 || static_cast<size_t>(*n) > limit) return false;
  return data.size() == static_cast<size_t>(*n) * dtype_size(type.dtype);
}

bool is_one_element(const Buffer& data, const TensorType& type) {
  const auto n = is_static(type.shape) ? num_elements(type.shape) : Result<int64_t>(int64_t{0});
  return n.ok() && *n > 1 && data.size() == dtype_size(type.dtype);
}

void print_elements(std::string& out, const Buffer& data, DType dtype, bool as_json) {
  size_t size = dtype_size(dtype);
  BYOC_CHECK(data.size() % size == 0, data.size(), " bytes of ", dtype);
  out += '[';
  for (size_t at = 0; at < data.size(); at += size) {
    if (at) out += ',';
    size_t from = out.size();
    print_element(out, dtype, data.data() + at);
    bool is_word = out.find_first_of("nx", from) != std::string::npos;  // inf, nan, 0x...
    if (as_json && is_word) {
      out.insert(from, 1, '"');
      out += '"';
    }
  }
  out += ']';
}

std::string print(const Function& function, Symbol name, const PrintOptions& options) {
  std::string out;
  FunctionPrinter(out, function, options).print(name, "");
  return out;
}

std::string print(const IRModule& module, const PrintOptions& options) {
  std::string out;
  if (!options.only_function.empty()) {
    const Function* function = module.find(options.only_function);
    return function ? print(*function, options.only_function, options) : out;
  }
  out += "module ";
  print_module_attrs(out, module);
  out += "{\n";
  for (const auto& [name, function] : module.functions) {
    FunctionPrinter(out, function, options).print(name, "  ");
  }
  out += "}\n";
  return out;
}

std::string describe(const Function& function, uint32_t index) {
  BYOC_CHECK(index < function.nodes.size(), "node ", index, " of ", function.nodes.size());
  const Node& node = function.nodes[index];
  std::string out;
  FunctionPrinter(out, function, {}).print_value_name({index, 0});
  std::string what = std::visit(
      overloaded{
          [](const Param&) { return std::string("parameter"); },
          [](const Constant&) { return std::string("const"); },
          [](const Call& call) { return call.op ? call.op->name : std::string("no op"); },
          [](const Invoke& invoke) { return cat("@", invoke.function); },
          [](const Extern& external) { return cat("call_dps_packed @", external.symbol); },
          [](const Control& control) {
            return cat(control.action == Control::kIf ? "if @" : "loop @", control.body);
          },
      },
      node.kind);
  out += cat(" (", what);
  if (!node.loc.empty()) {
    out += ' ';
    print_quoted(out, node.loc.text());
  }
  return out + ")";
}

}  // namespace byoc
