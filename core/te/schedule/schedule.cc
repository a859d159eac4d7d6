// SPDX-License-Identifier: Apache-2.0
// The state of stages before any primitive, and the look-ups of all primitives.
#include <algorithm>

#include "byoc/base/nearest.h"
#include "core/te/schedule/reads.h"
#include "core/te/schedule/state.h"

namespace byoc::te {

void reset_loops(StageState& state, const Compute& compute) {
  state.iters.clear();
  state.leaves.clear();
  state.relations.clear();
  for (const Axis& axis : compute.axes) state.iters.push_back({axis.var.name(), false});
  for (const Axis& axis : compute.reduce) state.iters.push_back({axis.var.name(), true});
  for (uint32_t k = 0; k < state.iters.size(); ++k) state.leaves.push_back(k);
}

bool is_untouched(const StageState& state) {
  auto is_plain = [](const Iter& iter) {
    return iter.kind == LoopKind::kSerial && !iter.is_tensorized;
  };
  return state.place == StageState::kRoot && state.relations.empty() && state.hosts.empty() &&
         std::is_sorted(state.leaves.begin(), state.leaves.end()) &&
         std::all_of(state.iters.begin(), state.iters.end(), is_plain);
}

bool is_tensorized(const StageState& state) {
  return std::any_of(state.iters.begin(), state.iters.end(),
                     [](const Iter& iter) { return iter.is_tensorized; });
}

std::optional<size_t> position_of(const StageState& stage, uint32_t iter) {
  auto at = std::find(stage.leaves.begin(), stage.leaves.end(), iter);
  if (at == stage.leaves.end()) return std::nullopt;
  return at - stage.leaves.begin();
}

Exprs root_extents(const Compute& compute, const StageState& state) {
  Exprs out;
  for (const Axis& axis : compute.axes) out.push_back(axis.extent);
  for (const Axis& axis : compute.reduce) out.push_back(axis.extent);
  out.resize(state.iters.size());
  return out;
}

StageState& ScheduleState::insert(size_t before, Stage stage) {
  const auto at = static_cast<std::ptrdiff_t>(before);
  dag.stages.insert(dag.stages.begin() + at, std::move(stage));
  stages.insert(stages.begin() + at, StageState{});
  for (size_t k = before; k < dag.stages.size(); ++k) numbers[dag.stages[k].name] = k;
  if (const Compute* compute = std::get_if<Compute>(&dag.stages[before].kind))
    reset_loops(stages[before], *compute);
  return stages[before];
}

std::string ScheduleState::unused_name(const std::string& base) const {
  std::string name = base;
  for (int k = 1; numbers.contains(name); ++k) name = cat(base, "_", k);
  return name;
}

Result<size_t> Primitive::stage(const std::string& name) const {
  auto known = state.numbers.find(name);
  if (known == state.numbers.end()) {
    std::vector<std::string> names;
    for (const Stage& stage : state.dag.stages) names.push_back(stage.name);
    return refuse(cat("there is no stage ", name, did_you_mean(name, names)));
  }
  const size_t number = known->second;
  const Stage& stage = state.dag.stages[number];
  if (std::holds_alternative<Placeholder>(stage.kind))
    return refuse(cat(name, " is an input and has no loops"));
  if (std::holds_alternative<Procedure>(stage.kind))
    return refuse(cat(name, " is a procedure, whose loops are as they are written"));
  if (state.stages[number].place == StageState::kInline)
    return refuse(cat(name, " is inlined and has no loops"));
  return number;
}

Result<uint32_t> Primitive::loop(size_t stage, const std::string& name) const {
  const StageState& mine = state.stages[stage];
  std::vector<std::string> names;
  for (uint32_t leaf : mine.leaves) {
    if (mine.iters[leaf].name == name && mine.iters[leaf].is_tensorized)
      return refuse(cat(name, " is tensorized already"));
    if (mine.iters[leaf].name == name) return leaf;
    names.push_back(mine.iters[leaf].name);
  }
  std::string all;
  for (const std::string& known : names) all += cat(all.empty() ? "" : ", ", known);
  return refuse(cat(state.dag.stages[stage].name, " has no loop ", name, "; it has ",
                    all.empty() ? "none" : all));
}

Result<uint32_t> Primitive::plain_loop(size_t stage, const std::string& name) const {
  BYOC_TRY(uint32_t iter, loop(stage, name));
  const StageState& mine = state.stages[stage];
  constexpr std::string_view kKinds[] = {"", "parallel", "vectorized", "unrolled"};
  if (mine.iters[iter].kind != LoopKind::kSerial)
    return refuse(
        cat(name, " is ", kKinds[static_cast<size_t>(mine.iters[iter].kind)], " already"));
  for (const std::string& hosted : mine.hosts) {
    if (state.of(hosted).at_iter == iter) return refuse(cat(hosted, " is computed at ", name));
  }
  return iter;
}

Schedule::Schedule(Dag dag) : state_(std::make_unique<ScheduleState>()) {
  ScheduleState& state = *state_;
  state.dag = std::move(dag);
  state.stages.resize(state.dag.stages.size());
  std::unordered_map<const void*, size_t> makers;
  for (size_t s = 0; s < state.dag.stages.size(); ++s) {
    const Stage& stage = state.dag.stages[s];
    state.numbers[stage.name] = s;
    if (const Compute* compute = std::get_if<Compute>(&stage.kind))
      reset_loops(state.stages[s], *compute);
    for (const Tensor& tensor : tensors_read(stage)) {
      auto maker = makers.find(tensor.id());
      if (maker != makers.end()) add_read(state, state.dag.stages[maker->second].name, stage.name);
    }
    for (const Tensor& output : stage.outputs) makers[output.id()] = s;
  }
  for (const Tensor& output : state.dag.outputs) {
    auto maker = makers.find(output.id());
    if (maker != makers.end()) state.stages[maker->second].is_result = true;
  }
}

Schedule::~Schedule() = default;
Schedule::Schedule(const Schedule& other)
    : state_(std::make_unique<ScheduleState>(*other.state_)) {}
Schedule::Schedule(Schedule&&) noexcept = default;
Schedule& Schedule::operator=(const Schedule& other) {
  state_ = std::make_unique<ScheduleState>(*other.state_);
  return *this;
}
Schedule& Schedule::operator=(Schedule&&) noexcept = default;

const Dag& Schedule::dag() const { return state_->dag; }
const Trace& Schedule::trace() const { return state_->trace; }

std::vector<std::string> Schedule::loops(const std::string& stage) const {
  std::vector<std::string> out;
  auto known = state_->numbers.find(stage);
  if (known == state_->numbers.end()) return out;
  const StageState& mine = state_->stages[known->second];
  for (uint32_t leaf : mine.leaves) out.push_back(mine.iters[leaf].name);
  return out;
}

Status Schedule::for_compute(const std::string& stage, const std::string& compute) {
  Primitive call{*state_, cat("for_compute(", stage, ", ", compute, ")")};
  BYOC_TRY(size_t s, call.stage(stage));
  const Stage& mine = state_->dag.stages[s];
  if (mine.compute != compute)
    return call.refuse(mine.compute.empty()
                           ? cat(stage, " has been chosen by no selector")
                           : cat("the compute chosen for ", mine.op, " is ", mine.compute));
  state_->trace.steps.push_back({"for_compute", stage, {compute}, {}});
  return {};
}

}  // namespace byoc::te
