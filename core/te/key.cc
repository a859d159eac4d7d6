// SPDX-License-Identifier: Apache-2.0
// Writes a Dag without its names. Each distinct node is written once, with a number that others
// refer to: "3 = binary 0 1 2" is the addition of nodes 1 and 2.
#include "byoc/te/key.h"

#include <bit>

#include "byoc/te/rewrite.h"
#include "core/te/interner.h"

namespace byoc::te {
namespace {

class Writer {
 public:
  std::string out;

  void dag(const Dag& dag) {
    for (const Stage& s : dag.stages) stage(s);
    for (const auto* tensors : {&dag.inputs, &dag.outputs}) {
      out += "interface";
      for (const Tensor& tensor : *tensors) out += cat(" t", number(tensor));
      out += "\n";
    }
  }

 private:
  size_t number(const Tensor& tensor) {
    return tensors_.try_emplace(tensor.id(), tensors_.size()).first->second;
  }
  size_t number(const Var& var) { return vars_.try_emplace(var.id(), vars_.size()).first->second; }
  void axes(const std::vector<Axis>& axes) {
    for (const Axis& axis : axes) {
      const size_t extent = node(axis.extent);
      out += cat("axis v", number(axis.var), " < ", extent, "\n");
    }
  }
  void list(std::string_view label, const Exprs& xs) {
    std::vector<size_t> nodes;
    for (const Expr& x : xs) nodes.push_back(node(x));
    out += label;
    for (size_t n : nodes) out += cat(" ", n);
    out += "\n";
  }
  void declare(const Tensor& tensor) {
    list("shape", tensor.shape());
    out += cat("t", number(tensor), " ", tensor.dtype(), "\n");
  }
  void stage(const Stage& s);
  void stmt(const Stmt& s);
  size_t node(const Expr& x);
  std::string text_of(const Expr& x);

  Interner interner_;
  std::unordered_map<const void*, size_t> tensors_, vars_, nodes_;
};

std::string Writer::text_of(const Expr& x) {
  return std::visit(
      overloaded{
          [&](const IntImm& v) { return cat(x.dtype(), " int ", v.value); },
          [&](const FloatImm& v) {
            return cat(x.dtype(), " float ", std::bit_cast<uint64_t>(v.value));
          },
          [&](const VarRef& v) {
            const std::string name = cat(x.dtype(), " v", number(v.var));
            return v.var.is_size() ? cat(name, " from ", v.var.min(), " to ", v.var.max()) : name;
          },
          [&](const Unary& v) { return cat("unary ", static_cast<int>(v.op), " ", node(v.x)); },
          [&](const Binary& v) {
            const size_t a = node(v.a), b = node(v.b);
            return cat("binary ", static_cast<int>(v.op), " ", a, " ", b);
          },
          [&](const Select& v) {
            const size_t condition = node(v.condition), yes = node(v.yes), no = node(v.no);
            return cat("select ", condition, " ", yes, " ", no);
          },
          [&](const Cast& v) { return cat("cast ", x.dtype(), " ", node(v.x)); },
          [&](const Bitcast& v) { return cat("bits ", x.dtype(), " ", node(v.x)); },
          [&](const std::shared_ptr<const Load>& v) {
            std::string text;
            for (const Expr& index : v->indices) text += cat(" ", node(index));
            return cat("load t", number(v->tensor), text);
          },
      },
      x->kind);
}

size_t Writer::node(const Expr& x) {
  const Expr one = interner_(x);
  auto known = nodes_.find(&*one);
  if (known != nodes_.end()) return known->second;
  const std::string text = text_of(one);
  const size_t at = nodes_.size();
  nodes_.emplace(&*one, at);
  out += cat(at, " = ", text, "\n");
  return at;
}

void Writer::stage(const Stage& s) {
  out += cat("stage \"", s.op, "\" \"", s.compute, "\"\n");
  for (const Tensor& output : s.outputs) declare(output);
  if (const Compute* compute = std::get_if<Compute>(&s.kind)) {
    axes(compute->axes);
    out += "reduce\n";
    axes(compute->reduce);
    list("values", compute->values);
    for (const auto* vars : {&compute->combiner.lhs, &compute->combiner.rhs}) {
      for (const Var& var : *vars) out += cat("operand v", number(var), "\n");
    }
    list("identity", compute->combiner.identity);
    list("result", compute->combiner.result);
  }
  if (const Procedure* procedure = std::get_if<Procedure>(&s.kind)) {
    for (const Tensor& input : procedure->inputs) out += cat("reads t", number(input), "\n");
    stmt(procedure->body);
  }
}

// Writes the kind, the tensors and variables, the expressions, then the statements inside.
void Writer::stmt(const Stmt& s) {
  if (s.is_empty()) {
    out += "nothing\n";
    return;
  }
  out += cat("stmt ", s->kind.index());
  if (const For* v = std::get_if<For>(&s->kind))
    out += cat(" v", number(v->var), " ", static_cast<int>(v->kind));
  if (const Let* v = std::get_if<Let>(&s->kind)) out += cat(" v", number(v->var));
  if (const Store* v = std::get_if<Store>(&s->kind)) out += cat(" t", number(v->tensor));
  if (const Block* v = std::get_if<Block>(&s->kind)) out += cat(" ", v->stmts.size());
  if (const Intrinsic* v = std::get_if<Intrinsic>(&s->kind)) {
    out += cat(" \"", v->name, "\" ", v->args.size());
    for (const Place& place : v->places) out += cat(" t", number(place.tensor));
  }
  out += "\n";
  if (const Alloc* v = std::get_if<Alloc>(&s->kind)) {
    declare(v->tensor);
    out += cat("scope ", static_cast<int>(v->scope), "\n");
  }
  if (const If* v = std::get_if<If>(&s->kind)) {
    list("if", {v->condition});
    stmt(v->yes);
    stmt(v->no);
    return;
  }
  map_parts(
      s,
      [&](const Expr& x) {
        list("with", {x});
        return x;
      },
      [&](const Stmt& inner) {
        stmt(inner);
        return inner;
      });
}

}  // namespace

std::string canonical_text(const Dag& dag) {
  Writer writer;
  writer.dag(dag);
  return std::move(writer.out);
}

ContentKey key_of(const Dag& dag) {
  const std::string text = canonical_text(dag);
  return content_key(std::as_bytes(std::span(text)));
}

}  // namespace byoc::te
