// Stages -> loops.
#include <algorithm>

#include "core/te/rewrite.h"
#include "core/te/schedule/state.h"

namespace byoc::te {
namespace {

// Fresh variables for the axes of one nest, and what they are in the stage.
struct Nest {
  std::vector<Axis> axes, reduce;
  VarMap values;
};

std::vector<Axis> fresh(const std::vector<Axis>& axes, VarMap& values) {
  std::vector<Axis> out;
  for (const Axis& axis : axes) {
    out.push_back({Var(axis.var.name()), axis.extent});
    values[axis.var.id()] = out.back().var;
  }
  return out;
}

Stmt loops(const std::vector<Axis>& axes, Stmt body) {
  for (size_t k = axes.size(); k-- > 0;)
    body = make_for(axes[k].var, 0, axes[k].extent, LoopKind::kSerial, std::move(body));
  return body;
}

Exprs indices_of(const Nest& nest) {
  Exprs out;
  for (const Axis& axis : nest.axes) out.push_back(axis.var);
  return out;
}

Stmt store_all(const std::vector<Tensor>& outputs, const Exprs& indices, const Exprs& values) {
  std::vector<Stmt> stores;
  for (size_t k = 0; k < outputs.size(); ++k)
    stores.push_back(make_store(outputs[k], indices, values[k]));
  return make_block(std::move(stores));
}

// Every combined value is known before the first is stored: the combiner may read them all.
Stmt combine(const Stage& stage, const Combiner& combiner, const Exprs& indices,
             const Exprs& terms) {
  VarMap operands;
  for (size_t k = 0; k < terms.size(); ++k) {
    operands[combiner.lhs[k].id()] = stage.outputs[k](indices);
    operands[combiner.rhs[k].id()] = terms[k];
  }
  Substitution substitute(std::move(operands));
  Exprs results;
  for (const Expr& result : combiner.result) results.push_back(substitute(result));
  if (results.size() == 1) return make_store(stage.outputs[0], indices, results[0]);
  std::vector<Var> vars;
  Exprs values;
  for (const Expr& result : results) {
    vars.emplace_back("combined" + std::to_string(vars.size()), result.dtype());
    values.push_back(vars.back());
  }
  Stmt body = store_all(stage.outputs, indices, values);
  for (size_t k = results.size(); k-- > 0;) body = make_let(vars[k], results[k], std::move(body));
  return body;
}

Stmt lower_compute(const Stage& stage, const Compute& compute) {
  Nest nest;
  nest.axes = fresh(compute.axes, nest.values);
  nest.reduce = fresh(compute.reduce, nest.values);
  Substitution substitute(nest.values);
  Exprs values;
  for (const Expr& value : compute.values) values.push_back(substitute(value));
  const Exprs indices = indices_of(nest);
  if (compute.reduce.empty()) return loops(nest.axes, store_all(stage.outputs, indices, values));
  Stmt update = loops(nest.reduce, combine(stage, compute.combiner, indices, values));
  Stmt init = store_all(stage.outputs, indices, compute.combiner.identity);
  return loops(nest.axes, make_block({std::move(init), std::move(update)}));
}

Stmt lower_stage(const Stage& stage) {
  if (const Compute* compute = std::get_if<Compute>(&stage.kind))
    return lower_compute(stage, *compute);
  if (const Procedure* procedure = std::get_if<Procedure>(&stage.kind)) return procedure->body;
  return {};
}

bool contains(const std::vector<Tensor>& tensors, const Tensor& tensor) {
  return std::find(tensors.begin(), tensors.end(), tensor) != tensors.end();
}

// An output that is an input, or another output once more, is a copy in a tensor of its own.
Tensor add_copy(const Tensor& from, std::vector<Stmt>& copies) {
  Tensor to(from.name() + ".copy", from.dtype(), from.shape());
  Nest nest;
  for (size_t k = 0; k < from.rank(); ++k)
    nest.axes.push_back({Var("i" + std::to_string(k)), from.shape()[k]});
  const Exprs indices = indices_of(nest);
  copies.push_back(loops(nest.axes, make_store(to, indices, from(indices))));
  return to;
}

}  // namespace

Result<LoopFunction> lower(const Schedule& schedule) {
  const Dag& dag = schedule.dag();
  LoopFunction out{dag.name, dag.inputs, {}, {}};
  std::vector<Stmt> copies;
  for (const Tensor& output : dag.outputs) {
    bool is_taken = contains(dag.inputs, output) || contains(out.outputs, output);
    out.outputs.push_back(is_taken ? add_copy(output, copies) : output);
  }
  Stmt body = make_block(std::move(copies));
  for (size_t s = dag.stages.size(); s-- > 0;) {
    const Stage& stage = dag.stages[s];
    if (std::holds_alternative<Placeholder>(stage.kind)) continue;
    body = make_block({lower_stage(stage), std::move(body)});
    for (const Tensor& tensor : stage.outputs) {
      if (!contains(out.outputs, tensor))
        body = make_alloc(tensor, Scope::kWorkspace, std::move(body));
    }
  }
  out.body = std::move(body);
  return out;
}

}  // namespace byoc::te
