// SPDX-License-Identifier: Apache-2.0
// Primitives that set where a stage is computed: compute_at, rolling_buffer,
// compute_inline.
#include <algorithm>
#include <unordered_set>

#include "byoc/te/rewrite.h"
#include "core/te/schedule/parallel.h"
#include "core/te/schedule/state.h"

namespace byoc::te {
namespace {

std::optional<std::string> parallel_loop(const ScheduleState& state, const std::string& stage) {
  for (const Iter& iter : state.of(stage).iters) {
    if (iter.kind == LoopKind::kParallel) return cat(iter.name, " of ", stage);
  }
  return std::nullopt;
}

// Returns true when `stage` is computed inside loop `iter` of `host`, directly or through others.
bool is_inside(const ScheduleState& state, std::string stage, const std::string& host,
               uint32_t iter) {
  const StageState& place = state.of(host);
  while (stage != host) {
    const StageState& mine = state.of(stage);
    if (mine.place != StageState::kAt) return false;
    if (mine.at_stage == host)
      return *position_of(place, mine.at_iter) >= *position_of(place, iter);
    stage = mine.at_stage;
  }
  return true;
}

// Returns the stages whose loops read `stage`: its readers, and the readers of inlined ones.
std::vector<std::string> effective_readers(const ScheduleState& state, const std::string& stage) {
  std::vector<std::string> out, open = {stage};
  std::unordered_set<std::string> seen;
  while (!open.empty()) {
    const std::string name = std::move(open.back());
    open.pop_back();
    for (const std::string& reader : state.of(name).readers) {
      if (!seen.insert(reader).second) continue;
      bool is_inlined = state.of(reader).place == StageState::kInline;
      (is_inlined ? open : out).push_back(reader);
    }
  }
  return out;
}

Status refuse_placed(const Primitive& call, const std::string& stage, const StageState& mine) {
  if (mine.place == StageState::kAt)
    return call.refuse(cat(stage, " is computed at a loop of ", mine.at_stage, " already"));
  if (mine.is_result)
    return call.refuse(cat(stage, " is a result and must be computed as a whole"));
  return {};
}

// Returns true where a statement of `procedure` gives a micro-kernel the address of `stage`.
bool hands_on(const ScheduleState& state, const std::string& procedure, const std::string& stage) {
  const Stage& reader = state.dag.stages[state.numbers.at(procedure)];
  const auto* body = std::get_if<Procedure>(&reader.kind);
  if (body == nullptr) return false;
  const std::vector<Tensor>& outputs = state.dag.stages[state.numbers.at(stage)].outputs;
  bool out = false;
  auto look = [&](auto& self, const Stmt& s) -> Stmt {
    const auto* call = s.is_empty() ? nullptr : std::get_if<Intrinsic>(&s->kind);
    for (const Place& place : call == nullptr ? std::vector<Place>{} : call->places)
      out = out || std::ranges::find(outputs, place.tensor) != outputs.end();
    return map_parts(
        s, [](const Expr& x) { return x; }, [&](const Stmt& inner) { return self(self, inner); });
  };
  look(look, body->body);
  return out;
}

}  // namespace

std::optional<std::string> parallel_around(const ScheduleState& state, const std::string& stage) {
  for (std::string name = stage;; name = state.of(name).at_stage) {
    if (auto loop = parallel_loop(state, name)) return loop;
    if (state.of(name).place != StageState::kAt) return std::nullopt;
  }
}

std::optional<std::string> parallel_within(const ScheduleState& state, const std::string& stage) {
  std::vector<std::string> open = {stage};
  while (!open.empty()) {
    const std::string name = std::move(open.back());
    open.pop_back();
    if (auto loop = parallel_loop(state, name)) return loop;
    const StageState& mine = state.of(name);
    open.insert(open.end(), mine.hosts.begin(), mine.hosts.end());
  }
  return std::nullopt;
}

Status Schedule::compute_at(const std::string& stage, const std::string& consumer,
                            const std::string& loop) {
  Primitive call{*state_, cat("compute_at(", stage, ", ", consumer, ", ", loop, ")")};
  BYOC_TRY(size_t s, call.stage(stage));
  BYOC_TRY(size_t c, call.stage(consumer));
  BYOC_TRY(uint32_t iter, call.loop(c, loop));
  StageState& mine = state_->stages[s];
  BYOC_TRY_STATUS(refuse_placed(call, stage, mine));
  if (state_->stages[c].iters[iter].kind == LoopKind::kVectorized)
    return call.refuse(cat(loop, " is vectorized"));
  const std::vector<std::string> readers = effective_readers(*state_, stage);
  if (readers.empty()) return call.refuse(cat("no stage reads ", stage));
  for (const std::string& reader : readers) {
    if (!is_inside(*state_, reader, consumer, iter))
      return call.refuse(cat(reader, " reads ", stage, " too, and is not computed inside ", loop,
                             " of ", consumer));
  }
  std::optional<std::string> around = parallel_around(*state_, consumer);
  std::optional<std::string> within = parallel_within(*state_, stage);
  if (around && within)
    return call.refuse(cat("the parallel loop ", *within, " would be inside ", *around));
  mine.place = StageState::kAt;
  mine.at_stage = consumer;
  mine.at_iter = iter;
  state_->stages[c].hosts.push_back(stage);
  state_->trace.steps.push_back({"compute_at", stage, {consumer, loop}, {}});
  return {};
}

Status Schedule::rolling_buffer(const std::string& stage, const std::string& consumer,
                                const std::string& loop) {
  Primitive call{*state_, cat("rolling_buffer(", stage, ", ", consumer, ", ", loop, ")")};
  BYOC_TRY(size_t s, call.stage(stage));
  BYOC_TRY(size_t c, call.stage(consumer));
  BYOC_TRY(uint32_t iter, call.loop(c, loop));
  StageState& mine = state_->stages[s];
  if (state_->stages[c].iters[iter].kind != LoopKind::kSerial)
    return call.refuse(cat(loop, " is not serial"));
  if (stage == consumer || !is_inside(*state_, stage, consumer, iter))
    return call.refuse(cat(stage, " is not computed inside ", loop, " of ", consumer));
  mine.rolls_along = consumer;
  mine.rolling_iter = iter;
  state_->trace.steps.push_back({"rolling_buffer", stage, {consumer, loop}, {}});
  return {};
}

Status Schedule::compute_inline(const std::string& stage) {
  Primitive call{*state_, cat("compute_inline(", stage, ")")};
  BYOC_TRY(size_t s, call.stage(stage));
  StageState& mine = state_->stages[s];
  BYOC_TRY_STATUS(refuse_placed(call, stage, mine));
  if (!state_->compute_of(stage)->reduce.empty()) return call.refuse(cat(stage, " is a reduction"));
  if (!mine.hosts.empty()) return call.refuse(cat(mine.hosts[0], " is computed at its loops"));
  if (is_tensorized(mine)) return call.refuse(cat(stage, " is tensorized"));
  for (const std::string& reader : effective_readers(*state_, stage)) {
    if (is_tensorized(state_->of(reader)))
      return call.refuse(cat(reader, ", which reads it, is tensorized"));
  }
  for (const std::string& reader : mine.readers) {
    if (hands_on(*state_, reader, stage))
      return call.refuse(cat(reader, " hands it to a micro-kernel, which needs it in memory"));
  }
  mine.place = StageState::kInline;
  state_->trace.steps.push_back({"compute_inline", stage, {}, {}});
  return {};
}

}  // namespace byoc::te
