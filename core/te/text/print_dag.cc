// SPDX-License-Identifier: Apache-2.0
// Prints Dags, for people and golden tests, and the declarations of micro-kernels.
#include "byoc/ir/visit.h"
#include "core/te/text/printer.h"
#include "core/te/text/words.h"

namespace byoc::te {

void Printer::axes(const std::vector<Axis>& axes) {
  for (size_t k = 0; k < axes.size(); ++k) {
    out += cat(k ? ", " : "", name(axes[k].var), " < ");
    expr(axes[k].extent);
  }
}

void Printer::compute(const Compute& compute, int depth) {
  line(depth);
  out += "for ";
  axes(compute.axes);
  if (!compute.reduce.empty()) {
    out += cat(compute.axes.empty() ? "" : " ", "over ");
    axes(compute.reduce);
  }
  out += ": ";
  list(compute.values);
  if (!compute.reduce.empty()) combiner(compute.combiner, depth);
}

void Printer::combiner(const Combiner& combiner, int depth) {
  line(depth);
  out += "combine (";
  for (const Var& var : combiner.lhs) out += cat(name(var), ", ");
  for (const Var& var : combiner.rhs) out += cat(name(var), ", ");
  out.resize(out.size() - 2);
  out += ") to ";
  list(combiner.result);
  out += " from ";
  list(combiner.identity);
}

void Printer::shared_compute(const Compute& compute) {
  out += " for ";
  axes(compute.axes);
  if (!compute.reduce.empty()) {
    out += compute.axes.empty() ? "over " : " over ";
    axes(compute.reduce);
  }
  out += ": ";
  define({&compute.values}, [&] { line(2); });
  if (!numbers_.empty()) line(2);
  list(compute.values);
  forget();
  if (!compute.reduce.empty()) combiner(compute.combiner, 2);
}

namespace {

void print_dag_stage(Printer& printer, const Stage& stage) {
  printer.line(1);
  printer.tensors(stage.outputs);
  if (!stage.op.empty())
    printer.out += cat("  // ", stage.op, stage.compute.empty() ? "" : ", ", stage.compute);
  if (const Compute* body = std::get_if<Compute>(&stage.kind)) printer.compute(*body, 2);
  if (const Procedure* body = std::get_if<Procedure>(&stage.kind)) printer.stmt(body->body, 2);
}

// Returns the declarations in a statement, in order of first use.
void find_kernels(const Stmt& root, std::vector<const TensorIntrin*>& out) {
  std::vector<const Stmt*> rest = {&root};
  while (!rest.empty()) {
    const Stmt& s = *rest.back();
    rest.pop_back();
    if (s.is_empty()) continue;
    std::visit(overloaded{
                   [&](const For& v) { rest.push_back(&v.body); },
                   [](const Store&) {},
                   [&](const If& v) { rest.push_back(&v.no), rest.push_back(&v.yes); },
                   [&](const Let& v) { rest.push_back(&v.body); },
                   [&](const Alloc& v) { rest.push_back(&v.body); },
                   [&](const Block& v) {
                     for (size_t k = v.stmts.size(); k-- > 0;) rest.push_back(&v.stmts[k]);
                   },
                   [&](const Intrinsic& v) {
                     if (v.declaration) out.push_back(v.declaration.get());
                   },
               },
               s->kind);
  }
}

}  // namespace

void Printer::kernels_of(const Stmt& body) {
  std::vector<const TensorIntrin*> all;
  find_kernels(body, all);
  for (const TensorIntrin* intrin : all) {
    if (kernels_.insert(intrin->name).second) kernel(*intrin);
  }
}

// Prints the declaration with names of its own: they have a meaning in it alone.
void Printer::kernel(const TensorIntrin& intrin) {
  Printer inner;
  inner.out = cat("\n  kernel ", quoted_name(intrin.name), ": (");
  inner.tensors(intrin.dag.inputs);
  inner.out += ") -> (";
  inner.tensors(intrin.dag.outputs);
  inner.out += ")";
  for (size_t place = 0; place < intrin.strides.size(); ++place) {
    inner.out += place ? "], [" : " strides [";
    for (size_t d = 0; d < intrin.strides[place].size(); ++d) {
      const int64_t stride = intrin.strides[place][d];
      inner.out += d ? ", " : "";
      inner.out += stride == TensorIntrin::kAnyStride ? "any" : cat(stride);
    }
    if (place + 1 == intrin.strides.size()) inner.out += "]";
  }
  inner.out += " {";
  for (const Stage& stage : intrin.dag.stages) {
    if (const Compute* body = std::get_if<Compute>(&stage.kind)) inner.compute(*body, 2);
  }
  inner.out += "\n  }";
  out += inner.out;
}

std::string print(const Dag& dag) {
  Printer printer;
  printer.out = cat("dag ", dag.name, " {");
  for (const Stage& stage : dag.stages) print_dag_stage(printer, stage);
  printer.out += "\n  return ";
  for (size_t k = 0; k < dag.outputs.size(); ++k)
    printer.out += cat(k ? ", " : "", printer.name(dag.outputs[k]));
  return printer.out + "\n}\n";
}

}  // namespace byoc::te
