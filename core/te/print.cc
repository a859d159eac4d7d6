// SPDX-License-Identifier: Apache-2.0
// Prints expressions, statements and Dags for people and golden tests. The text is not parsed back.
#include <unordered_map>
#include <unordered_set>

#include "byoc/ir/visit.h"
#include "byoc/te/tensor.h"

namespace byoc::te {
namespace {

constexpr std::string_view kUnaryNames[] = {
    "-",     "!",     "~",     "abs",  "sqrt",  "exp",   "log",    "erf",   "tanh",
    "sin",   "cos",   "tan",   "asin", "acos",  "atan",  "sinh",   "cosh",  "asinh",
    "acosh", "atanh", "floor", "ceil", "trunc", "round", "is_nan", "is_inf"};
static_assert(std::size(kUnaryNames) == static_cast<size_t>(UnaryOp::kIsInf) + 1);

struct BinaryName {
  std::string_view text;
  bool is_infix;
};
constexpr BinaryName kBinaryNames[] = {
    {"+", true},          {"-", true},          {"*", true},    {"/", true},    {"%", true},
    {"floor_div", false}, {"floor_mod", false}, {"min", false}, {"max", false}, {"pow", false},
    {"&", true},          {"|", true},          {"^", true},    {"<<", true},   {">>", true},
    {"==", true},         {"!=", true},         {"<", true},    {"<=", true}};
static_assert(std::size(kBinaryNames) == static_cast<size_t>(BinaryOp::kLessEqual) + 1);

// Gives each variable and tensor a distinct name, as several may have the same one.
class Printer {
 public:
  std::string out;

  void expr(const Expr& x);
  void list(const Exprs& xs);
  void stmt(const Stmt& s, int depth);
  void tensor_type(const Tensor& tensor);
  void line(int depth) { out += '\n', out.append(static_cast<size_t>(2 * depth), ' '); }
  std::string name(const Var& var) { return name(var.id(), var.name()); }
  std::string name(const Tensor& tensor) { return name(tensor.id(), tensor.name()); }
  void stage(const Stage& stage);

 private:
  std::string name(const void* id, const std::string& suggested);
  void binary(const Binary& x);
  void for_loop(const For& loop, int depth);
  void axes(const std::vector<Axis>& axes);
  void compute(const Compute& compute);

  std::unordered_map<const void*, std::string> names_;
  std::unordered_set<std::string> taken_;
};

std::string Printer::name(const void* id, const std::string& suggested) {
  std::string& known = names_[id];
  if (!known.empty()) return known;
  std::string base = suggested.empty() ? "v" : suggested;
  known = base;
  for (int k = 1; !taken_.insert(known).second; ++k) known = cat(base, "'", k);
  return known;
}

void Printer::list(const Exprs& xs) {
  for (size_t k = 0; k < xs.size(); ++k) {
    if (k > 0) out += ", ";
    expr(xs[k]);
  }
}

void Printer::binary(const Binary& x) {
  const BinaryName& op = kBinaryNames[static_cast<size_t>(x.op)];
  if (!op.is_infix) {
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

void Printer::expr(const Expr& x) {
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
                 [&](const FloatImm& v) {
                   out += cat(v.value);
                   if (x.dtype() != DType::kF32) out += cat(":", x.dtype());
                 },
                 [&](const VarRef& v) { out += name(v.var); },
                 [&](const Unary& v) { call(kUnaryNames[static_cast<size_t>(v.op)], {v.x}); },
                 [&](const Binary& v) { binary(v); },
                 [&](const Select& v) {
                   call("select", {v.condition, v.yes, v.no});
                 },
                 [&](const Cast& v) { call(dtype_name(x.dtype()), {v.x}); },
                 [&](const Bitcast& v) { call(cat("bits_as_", x.dtype()), {v.x}); },
                 [&](const std::shared_ptr<const Load>& v) {
                   out += cat(name(v->tensor), "[");
                   list(v->indices);
                   out += "]";
                 },
             },
             x->kind);
}

void Printer::tensor_type(const Tensor& tensor) {
  out += cat(tensor.dtype(), "[");
  list(tensor.shape());
  out += "]";
}

void Printer::for_loop(const For& loop, int depth) {
  constexpr std::string_view kKinds[] = {"for", "parallel", "vectorized", "unrolled"};
  out += cat(kKinds[static_cast<size_t>(loop.kind)], " ", name(loop.var), " in ");
  expr(loop.begin);
  out += "..";
  if (as_int(loop.begin) == 0) expr(loop.extent);
  else expr(loop.begin + loop.extent);
  out += " {";
  stmt(loop.body, depth + 1);
  line(depth);
  out += "}";
}

void Printer::stmt(const Stmt& s, int depth) {
  if (s.is_empty()) return;
  if (const Block* block = std::get_if<Block>(&s->kind)) {
    for (const Stmt& inner : block->stmts) stmt(inner, depth);
    return;
  }
  line(depth);
  std::visit(overloaded{
                 [&](const For& loop) { for_loop(loop, depth); },
                 [&](const Store& store) {
                   out += cat(name(store.tensor), "[");
                   list(store.indices);
                   out += "] = ";
                   expr(store.value);
                 },
                 [&](const If& branch) {
                   out += "if ";
                   expr(branch.condition);
                   out += " {";
                   stmt(branch.yes, depth + 1);
                   line(depth);
                   out += "}";
                   if (branch.no.is_empty()) return;
                   out += " else {";
                   stmt(branch.no, depth + 1);
                   line(depth);
                   out += "}";
                 },
                 [&](const Let& let) {
                   out += cat("let ", name(let.var), " = ");
                   expr(let.value);
                   stmt(let.body, depth);
                 },
                 [&](const Alloc& alloc) {
                   out += cat(alloc.scope == Scope::kStack ? "stack " : "workspace ",
                              name(alloc.tensor), ": ");
                   tensor_type(alloc.tensor);
                   stmt(alloc.body, depth);
                 },
                 [&](const Block&) {},
                 [&](const Intrinsic& call) {
                   out += cat(call.name, "(");
                   for (const Place& place : call.places) {
                     out += cat("&", name(place.tensor), "[");
                     list(place.indices);
                     out += "], ";
                   }
                   list(call.args);
                   out += ")";
                 },
             },
             s->kind);
}

void Printer::axes(const std::vector<Axis>& axes) {
  for (size_t k = 0; k < axes.size(); ++k) {
    out += cat(k ? ", " : "", name(axes[k].var), " < ");
    expr(axes[k].extent);
  }
}

void Printer::compute(const Compute& compute) {
  line(2);
  out += "for ";
  axes(compute.axes);
  if (!compute.reduce.empty()) {
    out += cat(compute.axes.empty() ? "" : " ", "over ");
    axes(compute.reduce);
  }
  out += ": ";
  list(compute.values);
  if (compute.reduce.empty()) return;
  line(2);
  out += "combine (";
  for (const Var& var : compute.combiner.lhs) out += cat(name(var), ", ");
  for (const Var& var : compute.combiner.rhs) out += cat(name(var), ", ");
  out.resize(out.size() - 2);
  out += ") to ";
  list(compute.combiner.result);
  out += " from ";
  list(compute.combiner.identity);
}

void Printer::stage(const Stage& stage) {
  line(1);
  for (size_t k = 0; k < stage.outputs.size(); ++k) {
    out += cat(k ? ", " : "", name(stage.outputs[k]), ": ");
    tensor_type(stage.outputs[k]);
  }
  if (!stage.op.empty())
    out += cat("  // ", stage.op, stage.compute.empty() ? "" : ", ", stage.compute);
  if (const Compute* body = std::get_if<Compute>(&stage.kind)) compute(*body);
  if (const Procedure* body = std::get_if<Procedure>(&stage.kind)) stmt(body->body, 2);
}

}  // namespace

std::string print(const Expr& x) {
  Printer printer;
  printer.expr(x);
  return std::move(printer.out);
}

std::string print(const Stmt& stmt) {
  Printer printer;
  printer.stmt(stmt, 0);
  return printer.out.empty() ? "" : printer.out.substr(1) + "\n";
}

std::string print(const LoopFunction& function) {
  Printer printer;
  printer.out = cat("loops ", function.name, "(");
  bool is_first = true;
  for (const std::vector<Tensor>* tensors : {&function.inputs, &function.outputs}) {
    for (const Tensor& tensor : *tensors) {
      printer.out += cat(is_first ? "" : ", ", printer.name(tensor), ": ");
      printer.tensor_type(tensor);
      is_first = false;
    }
    if (tensors == &function.inputs) printer.out += ") -> (", is_first = true;
  }
  printer.out += ") {";
  printer.stmt(function.body, 1);
  return printer.out + "\n}\n";
}

std::string print(const Dag& dag) {
  Printer printer;
  printer.out = cat("dag ", dag.name, " {");
  for (const Stage& stage : dag.stages) printer.stage(stage);
  printer.out += "\n  return ";
  for (size_t k = 0; k < dag.outputs.size(); ++k)
    printer.out += cat(k ? ", " : "", printer.name(dag.outputs[k]));
  return printer.out + "\n}\n";
}

}  // namespace byoc::te
