// SPDX-License-Identifier: Apache-2.0
// Primitives that add a stage: cache_read, cache_write.
#include <algorithm>

#include "byoc/te/rewrite.h"
#include "core/te/schedule/cache.h"

namespace byoc::te {

std::vector<Axis> fresh_axes(const std::vector<Axis>& axes) {
  std::vector<Axis> out;
  for (const Axis& axis : axes) out.push_back({Var(axis.var.name()), axis.extent});
  return out;
}

VarMap renaming(const std::vector<Axis>& from, const std::vector<Axis>& to) {
  VarMap out;
  for (size_t k = 0; k < from.size(); ++k) out[from[k].var.id()] = to[k].var;
  return out;
}

Exprs vars_of(const std::vector<Axis>& axes) {
  Exprs out;
  for (const Axis& axis : axes) out.push_back(axis.var);
  return out;
}

std::vector<Tensor> tensors_like(const std::vector<Tensor>& outputs, const std::string& name) {
  std::vector<Tensor> out;
  for (const Tensor& tensor : outputs) {
    std::string label = out.empty() ? name : cat(name, "#", out.size());
    out.emplace_back(std::move(label), tensor.dtype(), tensor.shape());
  }
  return out;
}

std::optional<std::string> placed_producer(const ScheduleState& state, const std::string& stage) {
  std::vector<std::string> open = state.of(stage).reads;
  while (!open.empty()) {
    const std::string name = std::move(open.back());
    open.pop_back();
    const StageState& producer = state.of(name);
    if (producer.place == StageState::kAt) return name;
    if (producer.place == StageState::kInline)
      open.insert(open.end(), producer.reads.begin(), producer.reads.end());
  }
  return std::nullopt;
}

void move_reads(ScheduleState& state, const std::string& from, const std::string& to) {
  const std::vector<std::string> reads = state.of(from).reads;
  for (const std::string& producer : reads) {
    remove_read(state, producer, from);
    add_read(state, producer, to);
  }
  add_read(state, to, from);
}

Status Schedule::cache_write(const std::string& stage) {
  Primitive call{*state_, cat("cache_write(", stage, ")")};
  BYOC_TRY(size_t s, call.stage(stage));
  if (!is_untouched(state_->stages[s]))
    return call.refuse(cat(stage, " has been scheduled already; cache_write comes first"));
  if (auto producer = placed_producer(*state_, stage))
    return call.refuse(cat(*producer, " is computed where ", stage, " reads it"));
  Stage cache = state_->dag.stages[s];
  cache.name = state_->unused_name(stage + ".cache");
  cache.outputs = tensors_like(cache.outputs, cache.name);
  const std::string name = cache.name;
  Compute& original = std::get<Compute>(state_->dag.stages[s].kind);
  Compute copy;
  copy.axes = fresh_axes(original.axes);
  for (const Tensor& tensor : cache.outputs) copy.values.push_back(tensor(vars_of(copy.axes)));
  original = std::move(copy);
  reset_loops(state_->stages[s], original);
  state_->insert(s, std::move(cache));
  move_reads(*state_, stage, name);
  state_->trace.steps.push_back({"cache_write", stage, {}, {}});
  return {};
}

namespace {

// Checks that `reader` may read a copy of stage `source` instead.
Status check_copy(const Primitive& call, size_t source, const std::string& reader) {
  const ScheduleState& state = call.state;
  const std::string& stage = state.dag.stages[source].name;
  const StageState& mine = state.stages[source];
  if (std::find(mine.readers.begin(), mine.readers.end(), reader) == mine.readers.end())
    return call.refuse(cat(reader, " does not read ", stage));
  if (mine.place == StageState::kAt)
    return call.refuse(cat(stage, " is computed at a loop of ", mine.at_stage, " already"));
  if (mine.place == StageState::kInline)
    return call.refuse(cat(stage, " is inlined and has no memory to copy"));
  if (state.of(reader).place == StageState::kInline) return call.refuse(cat(reader, " is inlined"));
  return {};
}

// Returns a stage that copies the outputs of `source`.
Stage copy_of(const Stage& source, const std::string& name) {
  Stage out;
  out.name = name;
  out.op = source.op, out.compute = source.compute, out.call = source.call;
  out.outputs = tensors_like(source.outputs, name);
  Compute copy;
  for (size_t k = 0; k < source.outputs[0].rank(); ++k)
    copy.axes.push_back({Var(cat("i", k)), source.outputs[0].shape()[k]});
  for (const Tensor& output : source.outputs) copy.values.push_back(output(vars_of(copy.axes)));
  out.kind = std::move(copy);
  return out;
}

}  // namespace

Status Schedule::cache_read(const std::string& stage, const std::string& reader) {
  Primitive call{*state_, cat("cache_read(", stage, ", ", reader, ")")};
  BYOC_TRY(size_t r, call.stage(reader));
  auto known = state_->numbers.find(stage);
  if (known == state_->numbers.end()) return call.stage(stage).status();
  BYOC_TRY_STATUS(check_copy(call, known->second, reader));
  const Stage& source = state_->dag.stages[known->second];
  Stage cache = copy_of(source, state_->unused_name(stage + ".cache"));
  std::unordered_map<const void*, Tensor> exchange;
  for (size_t k = 0; k < source.outputs.size(); ++k)
    exchange[source.outputs[k].id()] = cache.outputs[k];
  Compute& compute = std::get<Compute>(state_->dag.stages[r].kind);
  compute.values = with_tensors(compute.values, exchange);
  const std::string name = cache.name;
  state_->insert(r, std::move(cache));
  remove_read(*state_, stage, reader);
  add_read(*state_, stage, name);
  add_read(*state_, name, reader);
  state_->trace.steps.push_back({"cache_read", stage, {reader}, {}});
  return {};
}

}  // namespace byoc::te
