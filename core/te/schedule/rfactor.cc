// SPDX-License-Identifier: Apache-2.0
// The primitive rfactor: partial results along one loop of a reduction.
//   y[i] = sum over r of t(i, r),  r split into r.o and r.i,  rfactor(y, r.i):
//   y.partial[i, r.i] = sum over r.o of t(i, r.o * factor + r.i)
//   y[i] = sum over r.i of y.partial[i, r.i]
#include <algorithm>

#include "byoc/te/simplify.h"
#include "core/te/schedule/cache.h"

namespace byoc::te {
namespace {

// The reduction of the new stage, in which its loops are axes.
class Factoring {
 public:
  Factoring(const Compute& compute, const StageState& state) : compute_(compute), state_(state) {
    extents_ = root_extents(compute, state);
    values_.resize(state.iters.size());
    for (const Relation& relation : state.relations) {
      if (state.iters[relation.whole].is_reduce) set_extents(relation);
    }
  }

  Exprs extents() const { return extents_; }
  void set_value(uint32_t iter, Expr value) { values_[iter] = std::move(value); }
  // Computes the values of the axes from those of the loops, and the condition where splits
  // leave a remainder.
  void find_values();
  const Exprs& values() const { return values_; }
  const Expr& condition() const { return condition_; }

 private:
  void set_extents(const Relation& relation);
  const Compute& compute_;
  const StageState& state_;
  Exprs extents_, values_;
  Expr condition_;
};

void Factoring::set_extents(const Relation& relation) {
  const Expr whole = extents_[relation.whole];
  if (!relation.is_split) {
    extents_[relation.whole] = simplify(extents_[relation.outer] * extents_[relation.inner]);
  } else if (const std::optional<int64_t> count = as_int(whole)) {
    extents_[relation.outer] = (*count + relation.factor - 1) / relation.factor;
    extents_[relation.inner] = std::min(*count, relation.factor);
  } else {
    extents_[relation.outer] = simplify(floor_div(whole + (relation.factor - 1), relation.factor));
    extents_[relation.inner] = relation.factor;
  }
}

void Factoring::find_values() {
  for (size_t k = state_.relations.size(); k-- > 0;) {
    const Relation& r = state_.relations[k];
    if (!state_.iters[r.whole].is_reduce) continue;
    if (!r.is_split) {
      values_[r.outer] = floor_div(values_[r.whole], extents_[r.inner]);
      values_[r.inner] = floor_mod(values_[r.whole], extents_[r.inner]);
      continue;
    }
    values_[r.whole] = values_[r.outer] * r.factor + values_[r.inner];
    const int64_t inner = std::max<int64_t>(as_int(extents_[r.inner]).value_or(1), 1);
    if (as_int(simplify(floor_mod(extents_[r.whole], inner))) == 0) continue;
    Expr holds = values_[r.whole] < extents_[r.whole];
    condition_ = condition_.is_empty() ? holds : condition_ && holds;
  }
}

bool has_fixed_reduction(const Compute& compute) {
  return std::all_of(compute.reduce.begin(), compute.reduce.end(), [](const Axis& axis) {
    return as_int(axis.extent).has_value() || is_of_sizes(axis.extent);
  });
}

// Returns the compute without the reduction over `loop`, which becomes the last axis.
Compute partial_of(const Compute& compute, const StageState& state, uint32_t loop) {
  Factoring factoring(compute, state);
  const Exprs extents = factoring.extents();
  Compute out;
  out.axes = fresh_axes(compute.axes);
  VarMap vars = renaming(compute.axes, out.axes);
  for (uint32_t leaf : state.leaves) {
    if (!state.iters[leaf].is_reduce) continue;
    Axis axis{Var(state.iters[leaf].name), extents[leaf]};
    factoring.set_value(leaf, axis.var);
    (leaf == loop ? out.axes : out.reduce).push_back(axis);
  }
  factoring.find_values();
  for (size_t k = 0; k < compute.reduce.size(); ++k)
    vars[compute.reduce[k].var.id()] = factoring.values()[compute.axes.size() + k];
  Substitution substitute(std::move(vars));
  for (size_t k = 0; k < compute.values.size(); ++k) {
    Expr value = substitute(compute.values[k]);
    if (!factoring.condition().is_empty())
      value = select(factoring.condition(), value, compute.combiner.identity[k]);
    out.values.push_back(std::move(value));
  }
  out.combiner = compute.combiner;
  return out;
}

// Removes the reduce loops of the remaining stage; one loop over the partial results
// follows the others.
void reduce_partials(StageState& state, const Compute& before, const std::string& loop) {
  const size_t axes = before.axes.size();
  StageState old = state;
  std::vector<uint32_t> number(old.iters.size());
  state.iters.clear();
  auto keep = [&](uint32_t iter) {
    number[iter] = static_cast<uint32_t>(state.iters.size());
    state.iters.push_back(old.iters[iter]);
  };
  for (uint32_t k = 0; k < axes; ++k) keep(k);
  state.iters.push_back({loop, true});
  const auto reduce = static_cast<uint32_t>(axes);
  for (auto k = static_cast<uint32_t>(axes); k < old.iters.size(); ++k) {
    if (!old.iters[k].is_reduce) keep(k);
  }
  state.relations.clear();
  for (Relation r : old.relations) {
    if (old.iters[r.whole].is_reduce) continue;
    r.whole = number[r.whole], r.outer = number[r.outer], r.inner = number[r.inner];
    state.relations.push_back(r);
  }
  state.leaves.clear();
  bool is_placed = false;
  for (uint32_t leaf : old.leaves) {
    if (!old.iters[leaf].is_reduce) state.leaves.push_back(number[leaf]);
    else if (!std::exchange(is_placed, true)) state.leaves.push_back(reduce);
  }
}

// Returns a stage of the partial results of `stage`, with one more axis.
Stage partial_stage(const Stage& stage, std::string name, Compute partial) {
  Stage out = stage;
  out.outputs.clear();
  for (const Tensor& output : stage.outputs) {
    Exprs shape = output.shape();
    shape.push_back(partial.axes.back().extent);
    std::string label = out.outputs.empty() ? name : cat(name, "#", out.outputs.size());
    out.outputs.emplace_back(std::move(label), output.dtype(), std::move(shape));
  }
  out.name = std::move(name);
  out.kind = std::move(partial);
  return out;
}

// Returns the reduction over the partial results alone.
Compute outer_reduction(const Compute& compute, const Stage& partial, const std::string& loop) {
  Compute out;
  out.axes = compute.axes;
  out.reduce = {{Var(loop), std::get<Compute>(partial.kind).axes.back().extent}};
  out.combiner = compute.combiner;
  Exprs indices = vars_of(out.axes);
  indices.push_back(out.reduce[0].var);
  for (const Tensor& tensor : partial.outputs) out.values.push_back(tensor(indices));
  return out;
}

}  // namespace

Status Schedule::rfactor(const std::string& stage, const std::string& loop) {
  Primitive call{*state_, cat("rfactor(", stage, ", ", loop, ")")};
  BYOC_TRY(size_t s, call.stage(stage));
  BYOC_TRY(uint32_t iter, call.loop(s, loop));
  const StageState before = state_->stages[s];
  if (!before.iters[iter].is_reduce)
    return call.refuse(cat(loop, " is not a loop of the reduction"));
  if (is_tensorized(before)) return call.refuse(cat(stage, " is tensorized"));
  if (before.place != StageState::kRoot || !before.hosts.empty())
    return call.refuse(cat(stage, " is computed elsewhere, or others are computed at its loops"));
  if (auto producer = placed_producer(*state_, stage))
    return call.refuse(cat(*producer, " is computed where ", stage, " reads it"));
  const Compute compute = *state_->compute_of(stage);
  if (!has_fixed_reduction(compute)) return call.refuse("the reduction has no constant extent");
  Stage partial = partial_stage(state_->dag.stages[s], state_->unused_name(stage + ".partial"),
                                partial_of(compute, before, iter));
  state_->dag.stages[s].kind = outer_reduction(compute, partial, loop);
  reduce_partials(state_->stages[s], compute, loop);
  const std::string name = partial.name;
  state_->insert(s, std::move(partial));
  move_reads(*state_, stage, name);
  state_->trace.steps.push_back({"rfactor", stage, {loop}, {}});
  return {};
}

}  // namespace byoc::te
