// SPDX-License-Identifier: Apache-2.0
// Prints expressions. A node with several readers in one statement is printed once, before the
// statement, when its text is long:
//   $0 = (x[i] + (y[i] * 2.0) ... )
//   z[i] = ($0 * $0)
// so that the text is linear in the nodes, and not as large as the tree.
#include <cmath>

#include "byoc/ir/visit.h"
#include "byoc/te/rewrite.h"
#include "core/te/text/printer.h"
#include "core/te/text/words.h"

namespace byoc::te {
namespace {

constexpr uint64_t kLongText = 16;  // nodes; shorter parts are repeated, which is easier to read

bool is_leaf(const Expr& x) {
  return std::holds_alternative<IntImm>(x->kind) || std::holds_alternative<FloatImm>(x->kind) ||
         std::holds_alternative<VarRef>(x->kind);
}

}  // namespace

std::string quoted_name(const std::string& name) {
  const bool is_plain = plain_name_length(name) == name.size() && !name.empty();
  return is_plain && !is_reserved(name) ? name : quoted_text(name);
}

std::string quoted_text(std::string_view name) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "\"";
  for (char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') out += '\\', out += c;
    else if (byte < 0x20 || byte == 0x7f) out += cat("\\x", kDigits[byte >> 4], kDigits[byte & 15]);
    else out += c;
  }
  return out + "\"";
}

std::string Printer::name(const void* id, const std::string& suggested, bool is_scoped) {
  std::string& known = names_[id];
  if (!known.empty()) return known;
  const std::string base = suggested.empty() ? "v" : suggested;
  std::string unused = base;
  while (!taken_.try_emplace(unused, 0).second) unused = cat(base, "'", ++taken_[base]);
  known = quoted_name(unused);
  if (is_scoped) scoped_.emplace_back(id, unused);
  return known;
}

void Printer::end_scope() {
  for (const auto& [id, name] : scoped_) {
    taken_.erase(name);
    names_.erase(id);
  }
  scoped_.clear();
  is_scope_ = false;
}

void Printer::list(const Exprs& xs) {
  for (size_t k = 0; k < xs.size(); ++k) {
    if (k > 0) out += ", ";
    expr(xs[k]);
  }
}

void Printer::binary(const Binary& x) {
  const BinaryName& op = kBinaryNames[static_cast<size_t>(x.op)];
  if (op.level == 0) {
    out += cat(op.text, "(");
    list({x.a, x.b});
  } else {
    out += "(";
    expr(x.a);
    out += cat(" ", op.text, " ");
    expr(x.b);
  }
  out += ")";
}

void Printer::float_value(double value, DType dtype) {
  const size_t from = out.size();
  out += cat(value);
  if (out.find_first_of(".enf", from) == std::string::npos) out += ".0";
  if (dtype != DType::kF32) out += cat(":", dtype);
}

void Printer::expr(const Expr& x) {
  auto number = numbers_.find(&*x);
  if (number != numbers_.end()) out += cat("$", number->second);
  else node(x);
}

void Printer::node(const Expr& x) {
  auto call = [&](std::string_view head, const Exprs& args) {
    out += cat(head, "(");
    list(args);
    out += ")";
  };
  std::visit(overloaded{
                 [&](const IntImm& v) {
                   if (x.dtype() == DType::kBool) out += v.value ? "true" : "false";
                   else out += cat(v.value);
                   if (x.dtype() != DType::kI64 && x.dtype() != DType::kBool)
                     out += cat(":", x.dtype());
                 },
                 [&](const FloatImm& v) { float_value(v.value, x.dtype()); },
                 [&](const VarRef& v) { out += name(v.var); },
                 [&](const Unary& v) { call(kUnaryNames[static_cast<size_t>(v.op)], {v.x}); },
                 [&](const Binary& v) { binary(v); },
                 [&](const Select& v) {
                   call("select", {v.condition, v.yes, v.no});
                 },
                 [&](const Cast& v) { call(dtype_name(x.dtype()), {v.x}); },
                 [&](const Bitcast& v) { call(cat(kBitsAs, x.dtype()), {v.x}); },
                 [&](const std::shared_ptr<const Load>& v) {
                   out += cat(name(v->tensor), "[");
                   list(v->indices);
                   out += "]";
                 },
             },
             x->kind);
}

// Counts the readers of every node and appends the nodes to `order`, operands first. Returns the
// size of the node's text when no part of it has a name.
uint64_t Printer::count(const Expr& x, std::vector<Expr>& order) {
  if (is_leaf(x)) return 1;
  auto [known, is_new] = shared_.try_emplace(&*x);
  ++known->second.readers;
  if (!is_new) return known->second.size;
  uint64_t size = 1;
  map_operands(x, [&](const Expr& operand) {
    size = std::min(size + count(operand, order), kLongText + 1);
    return operand;
  });
  shared_[&*x].size = size;
  order.push_back(x);
  return size;
}

// Prints the parts of a statement's expressions that get names.
void Printer::share(std::initializer_list<const Exprs*> lists, int depth) {
  define(lists, [&] { line(depth); });
}

void Printer::define(std::initializer_list<const Exprs*> lists,
                     const std::function<void()>& before) {
  forget();
  std::vector<Expr> order;
  for (const Exprs* list : lists) {
    for (const Expr& x : *list) count(x, order);
  }
  for (const Expr& x : order) {
    const Shared& known = shared_.at(&*x);
    if (known.readers < 2 || known.size <= kLongText) continue;
    before();
    const auto number = static_cast<uint32_t>(numbers_.size());
    out += cat("$", number, " = ");
    node(x);
    numbers_.emplace(&*x, number);
  }
}

void Printer::tensor_type(const Tensor& tensor) {
  out += cat(tensor.dtype(), "[");
  list(tensor.shape());
  out += "]";
}

void Printer::sizes(const std::vector<Var>& sizes) {
  for (size_t k = 0; k < sizes.size(); ++k)
    out += cat(k ? ", " : " sizes ", sizes[k].min(), "<=", name(sizes[k]), "<=", sizes[k].max());
  if (!sizes.empty()) out += ' ';
}

void Printer::tensors(const std::vector<Tensor>& tensors) {
  for (size_t k = 0; k < tensors.size(); ++k) {
    out += cat(k ? ", " : "", name(tensors[k]), ": ");
    tensor_type(tensors[k]);
  }
}

std::string print(const Expr& x) {
  Printer printer;
  printer.expr(x);
  return std::move(printer.out);
}

}  // namespace byoc::te
