// SPDX-License-Identifier: Apache-2.0
#include "core/te/lower/inline.h"

namespace byoc::te {

Inliner::Inliner(const ScheduleState& state, Simplifier& simplify) : simplify_(simplify) {
  for (size_t s = 0; s < state.stages.size(); ++s) {
    if (state.stages[s].place != StageState::kInline) continue;
    const Stage& stage = state.dag.stages[s];
    for (size_t k = 0; k < stage.outputs.size(); ++k)
      inlined_[stage.outputs[k].id()] = {&std::get<Compute>(stage.kind), k};
  }
}

Expr Inliner::operator()(const Expr& x) {
  const Expr node = interner_(x);
  auto known = done_.find(&*node);
  if (known != done_.end()) return known->second.second;
  Expr result = interner_(map_operands(node, *this));
  const auto* load = std::get_if<std::shared_ptr<const Load>>(&result->kind);
  auto stage = load ? inlined_.find((*load)->tensor.id()) : inlined_.end();
  if (stage != inlined_.end()) {
    const Expr read = this->read(**load);
    auto before = done_.find(&*read);
    const Exprs& indices = std::get<std::shared_ptr<const Load>>(read->kind)->indices;
    result = before != done_.end() ? before->second.second : value_of(stage->second, indices);
    done_.emplace(&*read, std::pair(read, result));
  }
  done_.emplace(&*node, std::pair(node, result));
  return result;
}

// Reads the element with simplified indices, so that equal elements are equal nodes.
Expr Inliner::read(const Load& load) {
  Exprs indices;
  for (const Expr& index : load.indices) indices.push_back(simplify_(index));
  return interner_(load.tensor(std::move(indices)));
}

Expr Inliner::value_of(const Inlined& stage, const Exprs& indices) {
  VarMap values;
  for (size_t k = 0; k < indices.size(); ++k) values[stage.compute->axes[k].var.id()] = indices[k];
  return (*this)(Substitution(std::move(values))(stage.compute->values[stage.output]));
}

}  // namespace byoc::te
