// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/fingerprint.h"

#include <bit>
#include <string_view>
#include <unordered_map>

#include "byoc/ir/visit.h"

namespace byoc::llvm_plugin {
namespace {

// Gives each distinct node, variable and tensor a number at its first use; later uses
// write that number.
class Writer {
 public:
  std::string out;
  void number(uint64_t x) {
    do {
      out += static_cast<char>((x & 127) | (x > 127 ? 128 : 0));
      x >>= 7;
    } while (x != 0);
  }
  void text(std::string_view x) { number(x.size()), out += x; }
  void tensor(const te::Tensor& tensor) {
    if (!begin(tensor.id())) return;
    number(static_cast<uint64_t>(tensor.dtype()));
    exprs(tensor.shape());
  }
  void var(const te::Var& var) {
    if (begin(var.id())) number(static_cast<uint64_t>(var.dtype()));
  }
  void exprs(const te::Exprs& xs) {
    number(xs.size());
    for (const te::Expr& x : xs) expr(x);
  }
  void expr(const te::Expr& x);
  void stmt(const te::Stmt& s);

 private:
  /// Returns false when `id` has a number, which is then written.
  bool begin(const void* id) {
    auto [known, is_new] = ids_.emplace(id, ids_.size());
    number(known->second);
    return is_new;
  }
  void op(uint64_t kind, uint64_t op = 0) { number(kind), number(op); }
  std::unordered_map<const void*, uint64_t> ids_;
};

void Writer::expr(const te::Expr& x) {
  if (!begin(&*x)) return;
  op(x->kind.index(), static_cast<uint64_t>(x->dtype));
  std::visit(
      overloaded{
          [&](const te::IntImm& v) { number(static_cast<uint64_t>(v.value)); },
          [&](const te::FloatImm& v) { number(std::bit_cast<uint64_t>(v.value)); },
          [&](const te::VarRef& v) { var(v.var); },
          [&](const te::Unary& v) { number(static_cast<uint64_t>(v.op)), expr(v.x); },
          [&](const te::Binary& v) { number(static_cast<uint64_t>(v.op)), expr(v.a), expr(v.b); },
          [&](const te::Select& v) { expr(v.condition), expr(v.yes), expr(v.no); },
          [&](const te::Cast& v) { expr(v.x); },
          [&](const te::Bitcast& v) { expr(v.x); },
          [&](const std::shared_ptr<const te::Load>& v) { tensor(v->tensor), exprs(v->indices); },
      },
      x->kind);
}

void Writer::stmt(const te::Stmt& s) {
  if (s.is_empty()) return number(99);
  if (!begin(&*s)) return;
  number(s->kind.index());
  std::visit(overloaded{
                 [&](const te::For& v) {
                   var(v.var), expr(v.begin), expr(v.extent);
                   number(static_cast<uint64_t>(v.kind)), stmt(v.body);
                 },
                 [&](const te::Store& v) { tensor(v.tensor), exprs(v.indices), expr(v.value); },
                 [&](const te::If& v) { expr(v.condition), stmt(v.yes), stmt(v.no); },
                 [&](const te::Let& v) { var(v.var), expr(v.value), stmt(v.body); },
                 [&](const te::Alloc& v) {
                   tensor(v.tensor), number(static_cast<uint64_t>(v.scope)), stmt(v.body);
                 },
                 [&](const te::Block& v) {
                   number(v.stmts.size());
                   for (const te::Stmt& inner : v.stmts) stmt(inner);
                 },
                 [&](const te::Intrinsic& v) {
                   text(v.name);
                   number(v.places.size());
                   for (const te::Place& place : v.places)
                     tensor(place.tensor), exprs(place.indices);
                   exprs(v.args);
                 },
             },
             s->kind);
}

}  // namespace

std::string fingerprint(const te::LoopFunction& function) {
  Writer writer;
  for (const te::Var& size : function.sizes) {
    writer.var(size);
    writer.number(static_cast<uint64_t>(size.min()));
    writer.number(static_cast<uint64_t>(size.max()));
  }
  for (const auto* tensors : {&function.inputs, &function.outputs}) {
    writer.number(tensors->size());
    for (const te::Tensor& tensor : *tensors) writer.tensor(tensor);
  }
  writer.stmt(function.body);
  return std::move(writer.out);
}

}  // namespace byoc::llvm_plugin
