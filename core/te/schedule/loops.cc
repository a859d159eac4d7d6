// SPDX-License-Identifier: Apache-2.0
// Primitives within one stage: split, fuse, reorder, tile, vectorize, unroll, parallel.
#include <algorithm>

#include "byoc/te/simplify.h"
#include "core/te/schedule/parallel.h"
#include "core/te/schedule/state.h"

namespace byoc::te {
namespace {

std::string unused_loop(const StageState& stage, const std::string& base) {
  auto is_taken = [&](const std::string& name) {
    return std::any_of(stage.iters.begin(), stage.iters.end(),
                       [&](const Iter& iter) { return iter.name == name; });
  };
  std::string name = base;
  for (int k = 1; is_taken(name); ++k) name = cat(base, "_", k);
  return name;
}

uint32_t add_iter(StageState& stage, const std::string& name, bool is_reduce) {
  stage.iters.push_back({unused_loop(stage, name), is_reduce});
  return static_cast<uint32_t>(stage.iters.size() - 1);
}

// Replaces `iter` by two loops and returns both.
std::pair<uint32_t, uint32_t> split_loop(StageState& stage, uint32_t iter, int64_t factor) {
  const std::string name = stage.iters[iter].name;
  const bool is_reduce = stage.iters[iter].is_reduce;
  const uint32_t outer = add_iter(stage, name + ".o", is_reduce);
  const uint32_t inner = add_iter(stage, name + ".i", is_reduce);
  const auto at = stage.leaves.begin() + static_cast<std::ptrdiff_t>(*position_of(stage, iter));
  *at = outer;
  stage.leaves.insert(at + 1, inner);
  stage.relations.push_back({true, iter, outer, inner, factor});
  return {outer, inner};
}

// Returns the loops of the stage with those of `order` in that order, at the places
// they have together.
std::vector<uint32_t> reordered(const StageState& stage, const std::vector<uint32_t>& order) {
  std::vector<uint32_t> out = stage.leaves;
  size_t next = 0;
  for (uint32_t& leaf : out) {
    if (std::find(order.begin(), order.end(), leaf) != order.end()) leaf = order[next++];
  }
  return out;
}

// Returns true when a loop has a constant extent, at least in each part of its split. A stage that
// is computed where it is read has boxes, whose extents are found later.
bool has_constant_extent(const Compute& compute, const StageState& stage, uint32_t iter) {
  if (stage.place == StageState::kAt) return true;
  std::vector<bool> is_constant;
  for (const auto* axes : {&compute.axes, &compute.reduce}) {
    for (const Axis& axis : *axes) is_constant.push_back(as_int(axis.extent).has_value());
  }
  is_constant.resize(stage.iters.size());
  for (const Relation& r : stage.relations) {
    if (!r.is_split) is_constant[r.whole] = is_constant[r.outer] && is_constant[r.inner];
    else is_constant[r.inner] = true, is_constant[r.outer] = is_constant[r.whole];
  }
  return is_constant[iter];
}

// Returns the loops at which other stages are computed, outermost first.
std::vector<uint32_t> host_loops(const ScheduleState& state, const StageState& stage,
                                 const std::vector<uint32_t>& leaves) {
  std::vector<uint32_t> used, out;
  for (const std::string& hosted : stage.hosts) used.push_back(state.of(hosted).at_iter);
  for (uint32_t leaf : leaves) {
    if (std::find(used.begin(), used.end(), leaf) != used.end()) out.push_back(leaf);
  }
  return out;
}

}  // namespace

Result<Expr> Schedule::extent(const std::string& stage, const std::string& loop) const {
  Primitive call{*state_, cat("extent(", stage, ", ", loop, ")")};
  BYOC_TRY(size_t s, call.stage(stage));
  BYOC_TRY(uint32_t iter, call.loop(s, loop));
  const StageState& mine = state_->stages[s];
  Exprs extents = root_extents(*state_->compute_of(stage), mine);
  for (const Relation& r : mine.relations) {
    const Expr whole = extents[r.whole];
    if (!r.is_split) {
      extents[r.whole] = simplify(extents[r.outer] * extents[r.inner]);
      continue;
    }
    extents[r.outer] = simplify(floor_div(whole + (r.factor - 1), r.factor));
    extents[r.inner] = std::min(as_int(whole).value_or(r.factor), r.factor);
  }
  return extents[iter];
}

Status Schedule::split(const std::string& stage, const std::string& loop, int64_t factor) {
  Primitive call{*state_, cat("split(", stage, ", ", loop, ", ", factor, ")")};
  BYOC_TRY(size_t s, call.stage(stage));
  BYOC_TRY(uint32_t iter, call.plain_loop(s, loop));
  if (factor < 1) return call.refuse("the factor must be at least 1");
  split_loop(state_->stages[s], iter, factor);
  state_->trace.steps.push_back({"split", stage, {loop}, {factor}});
  return {};
}

Status Schedule::fuse(const std::string& stage, const std::string& outer,
                      const std::string& inner) {
  Primitive call{*state_, cat("fuse(", stage, ", ", outer, ", ", inner, ")")};
  BYOC_TRY(size_t s, call.stage(stage));
  BYOC_TRY(uint32_t a, call.plain_loop(s, outer));
  BYOC_TRY(uint32_t b, call.plain_loop(s, inner));
  StageState& mine = state_->stages[s];
  const size_t at = *position_of(mine, a);
  if (at + 1 >= mine.leaves.size() || mine.leaves[at + 1] != b)
    return call.refuse(cat(inner, " is not the loop right inside ", outer));
  if (mine.iters[a].is_reduce != mine.iters[b].is_reduce)
    return call.refuse("one of them is a loop of the reduction and one is not");
  const uint32_t whole = add_iter(mine, cat(outer, ".", inner), mine.iters[a].is_reduce);
  mine.leaves[at] = whole;
  mine.leaves.erase(mine.leaves.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  mine.relations.push_back({false, whole, a, b, 0});
  state_->trace.steps.push_back({"fuse", stage, {outer, inner}, {}});
  return {};
}

Status Schedule::reorder(const std::string& stage, const std::vector<std::string>& order) {
  std::string text;
  for (const std::string& name : order) text += cat(", ", name);
  Primitive call{*state_, cat("reorder(", stage, text, ")")};
  BYOC_TRY(size_t s, call.stage(stage));
  StageState& mine = state_->stages[s];
  std::vector<uint32_t> iters;
  for (const std::string& name : order) {
    BYOC_TRY(uint32_t iter, call.loop(s, name));
    if (std::find(iters.begin(), iters.end(), iter) != iters.end())
      return call.refuse(cat(name, " is named twice"));
    iters.push_back(iter);
  }
  const std::vector<uint32_t> leaves = reordered(mine, iters);
  for (size_t k = 0; k + 1 < leaves.size(); ++k) {
    if (mine.iters[leaves[k]].kind == LoopKind::kVectorized)
      return call.refuse(
          cat(mine.iters[leaves[k]].name, " is vectorized and must stay the innermost loop"));
  }
  if (host_loops(*state_, mine, leaves) != host_loops(*state_, mine, mine.leaves))
    return call.refuse("two loops at which other stages are computed would change places");
  mine.leaves = leaves;
  state_->trace.steps.push_back({"reorder", stage, order, {}});
  return {};
}

Status Schedule::tile(const std::string& stage, const std::string& a, const std::string& b,
                      int64_t a_factor, int64_t b_factor) {
  Primitive call{*state_,
                 cat("tile(", stage, ", ", a, ", ", b, ", ", a_factor, ", ", b_factor, ")")};
  BYOC_TRY(size_t s, call.stage(stage));
  BYOC_TRY(uint32_t first, call.plain_loop(s, a));
  BYOC_TRY(uint32_t second, call.plain_loop(s, b));
  if (first == second) return call.refuse(cat(a, " is named twice"));
  if (a_factor < 1 || b_factor < 1) return call.refuse("the factors must be at least 1");
  StageState& mine = state_->stages[s];
  const auto [a_outer, a_inner] = split_loop(mine, first, a_factor);
  const auto [b_outer, b_inner] = split_loop(mine, second, b_factor);
  mine.leaves = reordered(mine, {a_outer, b_outer, a_inner, b_inner});
  state_->trace.steps.push_back({"tile", stage, {a, b}, {a_factor, b_factor}});
  return {};
}

Status Schedule::vectorize(const std::string& stage, const std::string& loop) {
  Primitive call{*state_, cat("vectorize(", stage, ", ", loop, ")")};
  BYOC_TRY(size_t s, call.stage(stage));
  BYOC_TRY(uint32_t iter, call.plain_loop(s, loop));
  StageState& mine = state_->stages[s];
  if (mine.iters[iter].is_reduce)
    return call.refuse(cat(loop, " is a loop of the reduction; rfactor gives partial results"));
  if (mine.leaves.back() != iter) return call.refuse(cat(loop, " is not the innermost loop"));
  if (!has_constant_extent(*state_->compute_of(stage), state_->stages[s], iter))
    return call.refuse(cat(loop, " has no constant extent"));
  mine.iters[iter].kind = LoopKind::kVectorized;
  state_->trace.steps.push_back({"vectorize", stage, {loop}, {}});
  return {};
}

Status Schedule::unroll(const std::string& stage, const std::string& loop) {
  Primitive call{*state_, cat("unroll(", stage, ", ", loop, ")")};
  BYOC_TRY(size_t s, call.stage(stage));
  BYOC_TRY(uint32_t iter, call.loop(s, loop));
  Iter& mine = state_->stages[s].iters[iter];
  if (mine.kind != LoopKind::kSerial) {
    BYOC_TRY_STATUS(call.plain_loop(s, loop).status());
  }
  if (!has_constant_extent(*state_->compute_of(stage), state_->stages[s], iter))
    return call.refuse(cat(loop, " has no constant extent"));
  mine.kind = LoopKind::kUnrolled;
  state_->trace.steps.push_back({"unroll", stage, {loop}, {}});
  return {};
}

Status Schedule::parallel(const std::string& stage, const std::string& loop) {
  Primitive call{*state_, cat("parallel(", stage, ", ", loop, ")")};
  BYOC_TRY(size_t s, call.stage(stage));
  BYOC_TRY(uint32_t iter, call.loop(s, loop));
  Iter& mine = state_->stages[s].iters[iter];
  if (mine.is_reduce) return call.refuse(cat(loop, " is a loop of the reduction"));
  if (mine.kind != LoopKind::kSerial) {
    BYOC_TRY_STATUS(call.plain_loop(s, loop).status());
  }
  if (std::optional<std::string> other = parallel_around(*state_, stage))
    return call.refuse(cat("it would be inside or around the parallel loop ", *other));
  if (std::optional<std::string> other = parallel_within(*state_, stage))
    return call.refuse(cat("it would be inside or around the parallel loop ", *other));
  mine.kind = LoopKind::kParallel;
  state_->trace.steps.push_back({"parallel", stage, {loop}, {}});
  return {};
}

}  // namespace byoc::te
