// SPDX-License-Identifier: Apache-2.0
// Prints statements and loop functions. What follows a `let` or an allocation up to the closing
// brace is its body; a body that ends earlier is in braces of its own.
#include "byoc/ir/visit.h"
#include "core/te/text/printer.h"
#include "core/te/text/words.h"

namespace byoc::te {

// Prints the inside of a pair of braces. Bodies of allocations and values are at the same depth as
// what is before them, so a long chain of them needs no recursion.
void Printer::stmt(const Stmt& s, int depth) {
  std::vector<const Stmt*> rest;  // the last one is next
  if (!s.is_empty()) rest.push_back(&s);
  while (!rest.empty()) {
    const Stmt& next = *rest.back();
    rest.pop_back();
    if (next.is_empty()) continue;
    if (nested(next, depth, rest)) continue;
    statement(*next, depth);
  }
}

// Prints the head of a statement whose body follows at the same depth, and puts the body on `rest`.
// Returns false for other statements.
bool Printer::nested(const Stmt& s, int depth, std::vector<const Stmt*>& rest) {
  if (const Block* block = std::get_if<Block>(&s->kind)) {
    for (size_t k = block->stmts.size(); k-- > 0;) rest.push_back(&block->stmts[k]);
    return true;
  }
  const Let* let = std::get_if<Let>(&s->kind);
  const Alloc* alloc = std::get_if<Alloc>(&s->kind);
  if (let == nullptr && alloc == nullptr) return false;
  if (!rest.empty()) {
    line(depth);
    out += "{";
    stmt(s, depth + 1);
    line(depth);
    out += "}";
    return true;
  }
  Exprs value;
  if (let != nullptr) value = {let->value};
  share({let != nullptr ? &value : &alloc->tensor.shape()}, depth);
  line(depth);
  if (let != nullptr) {
    out += cat("let ", introduce(let->var), " = ");
    expr(let->value);
  } else {
    out += cat(alloc->scope == Scope::kStack ? "stack " : "workspace ", introduce(alloc->tensor),
               ": ");
    tensor_type(alloc->tensor);
  }
  forget();
  rest.push_back(let != nullptr ? &let->body : &alloc->body);
  return true;
}

void Printer::statement(const StmtNode& s, int depth) {
  std::visit(overloaded{
                 [&](const For& loop) { for_loop(loop, depth); },
                 [&](const Store& store) {
                   const Exprs value = {store.value};
                   share({&store.indices, &value}, depth);
                   line(depth);
                   out += cat(name(store.tensor), "[");
                   list(store.indices);
                   out += "] = ";
                   expr(store.value);
                   forget();
                 },
                 [&](const If& v) { branch(v, depth); },
                 [&](const Let&) {},  // nested() has printed these
                 [&](const Alloc&) {},
                 [&](const Block&) {},
                 [&](const Intrinsic& call) { intrinsic(call, depth); },
             },
             s.kind);
}

void Printer::for_loop(const For& loop, int depth) {
  const Exprs range = {loop.begin, loop.extent};
  share({&range}, depth);
  line(depth);
  out += cat(kLoopNames[static_cast<size_t>(loop.kind)], " ", introduce(loop.var), " in ");
  expr(loop.begin);
  const bool is_from_zero = as_int(loop.begin) == 0 && as_int(loop.extent).value_or(0) >= 0;
  out += is_from_zero ? ".." : "..+";
  expr(loop.extent);
  forget();
  out += " {";
  stmt(loop.body, depth + 1);
  line(depth);
  out += "}";
}

void Printer::branch(const If& branch, int depth) {
  const Exprs condition = {branch.condition};
  share({&condition}, depth);
  line(depth);
  out += "if ";
  expr(branch.condition);
  forget();
  out += " {";
  stmt(branch.yes, depth + 1);
  line(depth);
  out += "}";
  if (branch.no.is_empty()) return;
  out += " else {";
  stmt(branch.no, depth + 1);
  line(depth);
  out += "}";
}

void Printer::intrinsic(const Intrinsic& call, int depth) {
  Exprs all = call.args;
  for (const Place& place : call.places)
    all.insert(all.end(), place.indices.begin(), place.indices.end());
  share({&all}, depth);
  line(depth);
  out += cat(quoted_name(call.name), "(");
  bool is_first = true;
  for (const Place& place : call.places) {
    out += cat(is_first ? "&" : ", &", name(place.tensor), "[");
    list(place.indices);
    out += "]";
    is_first = false;
  }
  if (!is_first && !call.args.empty()) out += ", ";
  list(call.args);
  forget();
  out += ")";
}

std::string print(const Stmt& stmt) {
  Printer printer;
  printer.stmt(stmt, 0);
  return printer.out.empty() ? "" : printer.out.substr(1) + "\n";
}

std::string print(const LoopFunction& function) {
  Printer printer;
  printer.out = cat("loops ", quoted_name(function.name));
  printer.sizes(function.sizes);
  printer.out += "(";
  printer.tensors(function.inputs);
  printer.out += ") -> (";
  printer.tensors(function.outputs);
  printer.out += ") {";
  printer.kernels_of(function.body);
  printer.stmt(function.body, 1);
  return printer.out + "\n}\n";
}

}  // namespace byoc::te
