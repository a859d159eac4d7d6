// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/families/phases/merge.h"

#include <algorithm>

#include "byoc/te/rewrite.h"
#include "plugins/llvm/tiling/access.h"

namespace byoc::llvm_plugin::phases {
namespace {

using te::Expr;
using te::Exprs;
using te::Stmt;
using te::Tensor;

/// A value with the axes of its stage, and loads of tensors, replaced.
class Replacement {
 public:
  using Values = std::unordered_map<const void*, Expr>;  // by Tensor::id(), of one element each
  Replacement(const std::vector<te::Axis>& axes, const Exprs& indices, const Values& values)
      : values_(values) {
    for (size_t d = 0; d < axes.size(); ++d) vars_[axes[d].var.id()] = indices[d];
  }
  Expr operator()(const Expr& x) {
    const auto known = done_.find(&*x);
    if (known != done_.end()) return known->second;
    return done_[&*x] = replaced(x);
  }

 private:
  Expr replaced(const Expr& x) {
    if (const auto* ref = std::get_if<te::VarRef>(&x->kind)) {
      const auto at = vars_.find(ref->var.id());
      return at == vars_.end() ? x : at->second;
    }
    if (const auto* load = std::get_if<std::shared_ptr<const te::Load>>(&x->kind)) {
      const auto at = values_.find((*load)->tensor.id());
      if (at != values_.end()) return at->second;
    }
    return te::map_operands(x, *this);
  }

  const Values& values_;
  te::VarMap vars_;
  std::unordered_map<const void*, Expr> done_;
};

/// The loops of a Dag, and the stages that follow them.
class Merger {
 public:
  explicit Merger(const te::Dag& dag) : dag_(dag) {}
  bool find();
  te::Dag merged() const;

 private:
  bool follows(const te::Stage& stage);
  Expr value_at(const Exprs& indices, const Expr& sum) const;
  Stmt rewritten(const Stmt& stmt) const;
  const te::Stage& loops() const { return dag_.stages[loops_]; }

  const te::Dag& dag_;
  size_t loops_ = 0;
  std::vector<size_t> after_;                // that read its results, in order
  std::unordered_set<const void*> results_;  // by Tensor::id(), of the loops and of `after_`
};

// Returns true for a stage that does not read the results, or element by element; the latter is
// added to `after_`.
bool Merger::follows(const te::Stage& stage) {
  const te::Compute* compute = topi::compute_of(stage);
  if (compute == nullptr) return std::holds_alternative<te::Placeholder>(stage.kind);
  bool reads = false, is_elementwise = true;
  for (const te::Load* load : topi::loads_of(*compute)) {
    if (!results_.contains(load->tensor.id())) continue;
    reads = true;
    is_elementwise = is_elementwise && topi::is_elementwise(*load, compute->axes);
  }
  if (!reads) return true;
  if (!is_elementwise || !compute->reduce.empty() || stage.outputs.size() != 1 ||
      !topi::has_shape_of(stage, loops()))
    return false;
  results_.insert(stage.outputs[0].id());
  after_.push_back(static_cast<size_t>(&stage - dag_.stages.data()));
  return true;
}

bool Merger::find() {
  const auto is_loops = [](const te::Stage& stage) {
    return stage.role == kVectors && std::holds_alternative<te::Procedure>(stage.kind);
  };
  if (dag_.outputs.size() != 1 || std::ranges::count_if(dag_.stages, is_loops) != 1) return false;
  loops_ = static_cast<size_t>(std::ranges::find_if(dag_.stages, is_loops) - dag_.stages.begin());
  results_.insert(loops().outputs[0].id());
  for (size_t s = 0; s < dag_.stages.size(); ++s) {
    if (s != loops_ && !follows(dag_.stages[s])) return false;
  }
  return !after_.empty() && te::stage_of(dag_, dag_.outputs[0]) == after_.back();
}

// Returns an element of the Dag's result for a result of the loops.
Expr Merger::value_at(const Exprs& indices, const Expr& sum) const {
  Replacement::Values values = {{loops().outputs[0].id(), sum}};
  Expr out = sum;
  for (size_t s : after_) {
    const te::Compute& compute = *topi::compute_of(dag_.stages[s]);
    out = Replacement(compute.axes, indices, values)(compute.values[0]);
    values[dag_.stages[s].outputs[0].id()] = out;
  }
  return out;
}

Stmt Merger::rewritten(const Stmt& stmt) const {
  if (stmt.is_empty()) return stmt;
  const auto* store = std::get_if<te::Store>(&stmt->kind);
  if (store != nullptr && store->tensor == loops().outputs[0])
    return te::make_store(dag_.outputs[0], store->indices, value_at(store->indices, store->value));
  return te::map_parts(
      stmt, [](const Expr& x) { return x; }, [&](const Stmt& inner) { return rewritten(inner); });
}

te::Dag Merger::merged() const {
  te::Dag out{dag_.name, {}, dag_.inputs, dag_.outputs};
  te::Stage all = loops();
  auto& procedure = std::get<te::Procedure>(all.kind);
  for (size_t s : after_) {
    for (const te::Load* load : topi::loads_of(*topi::compute_of(dag_.stages[s]))) {
      const bool is_known =
          results_.contains(load->tensor.id()) ||
          std::ranges::find(procedure.inputs, load->tensor) != procedure.inputs.end();
      if (!is_known) procedure.inputs.push_back(load->tensor);
    }
  }
  procedure.body = rewritten(procedure.body);
  all.outputs = dag_.outputs;
  for (size_t s = 0; s < dag_.stages.size(); ++s) {
    if (s != loops_ && std::ranges::find(after_, s) == after_.end())
      out.stages.push_back(dag_.stages[s]);
  }
  out.stages.push_back(std::move(all));
  return out;
}

}  // namespace

std::optional<te::Dag> merged(const te::Dag& dag) {
  Merger merger(dag);
  return merger.find() ? std::optional(merger.merged()) : std::nullopt;
}

}  // namespace byoc::llvm_plugin::phases
