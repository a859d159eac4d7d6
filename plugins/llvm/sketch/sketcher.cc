// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/sketch/sketcher.h"

#include <algorithm>

#include "byoc/base/check.h"
#include "plugins/llvm/sketch/tile_levels.h"
#include "plugins/llvm/tiling/access.h"

namespace byoc::llvm_plugin::sketch {
namespace {

using topi::extent_of;

constexpr int64_t kLeastVectors = 1;  // along the terms of partial results

class Sketcher : topi::StagedSchedule {
 public:
  Sketcher(const te::Dag& dag, const te::Target& target, const SketchRules& rules)
      : StagedSchedule(dag, target), rules_(rules) {}
  te::Schedule make() &&;

 private:
  void compute_by(const std::string& reduction, Rule rule);
  void tile(const std::string& reduction);
  std::vector<std::string> order_last(const std::string& last, const TileLevels& levels);
  void order_sums(const std::string& sums, const TileLevels& levels);
  std::string join_outer(const std::string& stage, std::vector<std::string>& outer);
  void fetch(const std::string& last, const std::string& loop);
  void divide_among_threads(const std::string& reduction);
  void plan_loops(const std::string& stage);
  void plan_elementwise(const std::string& stage);
  void plan_reduction(const std::string& stage);
  size_t host_producers(const std::string& stage);
  size_t depth_of(const std::string& producer, const std::string& host) const;
  bool is_hosted(const std::string& stage) const;
  std::optional<size_t> crossed_axis(const te::Compute& own) const;

  const SketchRules& rules_;
  std::vector<std::string> hosted_;
};

bool Sketcher::is_hosted(const std::string& name) const {
  return std::ranges::find(hosted_, name) != hosted_.end();
}

// ---- tiles

// Fuses outer loops until all threads have several iterations, and returns the first.
std::string Sketcher::join_outer(const std::string& name, std::vector<std::string>& outer) {
  BYOC_CHECK(!outer.empty(), "stage ", name, " has outer loops");
  constexpr size_t kMostJoined = 3;
  for (size_t k = 0; target_.threads > 1 && k < kMostJoined && outer.size() > 1; ++k) {
    if (!schedule_.fuse(name, outer[0], outer[1]).ok()) break;
    outer[1] = cat(outer[0], ".", outer[1]);
    outer.erase(outer.begin());
  }
  return outer.front();
}

// Splits and orders the loops of the stage that stores a tile. Returns S0 and S1.
std::vector<std::string> Sketcher::order_last(const std::string& last, const TileLevels& levels) {
  std::vector<std::string> outer, panel, rows, lanes;
  const std::vector<std::string> loops = schedule_.loops(last);
  BYOC_CHECK(levels.lanes.axis < loops.size(), "axis ", levels.lanes.axis, " of ", loops.size(),
             " loops of ", last);
  for (size_t k = 0; k < loops.size(); ++k) {
    const Level* level = levels.of(k);
    std::string loop = loops[k];
    if (level == nullptr) {
      outer.push_back(loop);
      continue;
    }
    if (level->outer > 1) {
      if (!schedule_.split(last, loop, level->tile() * level->outer).ok()) return {};
      outer.push_back(loop + ".o");
      loop += ".i";
    }
    if (!schedule_.split(last, loop, level->tile()).ok()) return {};
    (level->outer > 1 ? panel : outer).push_back(loop + ".o");
    loop += ".i";
    const bool is_lanes = k == levels.lanes.axis;
    if (is_lanes && level->middle > 1) {
      if (!schedule_.split(last, loop, level->inner).ok()) return {};
      lanes.push_back(loop + ".o");
      loop += ".i";
    }
    (is_lanes ? lanes : rows).push_back(loop);
  }
  std::vector<std::string> order = outer;
  for (const auto* part : {&panel, &rows, &lanes})
    order.insert(order.end(), part->begin(), part->end());
  if (!schedule_.reorder(last, order).ok()) return {};
  const bool is_small = levels.tile_vectors() <= kMostWritten;
  for (const std::string& loop : is_small ? rows : std::vector<std::string>{})
    (void)schedule_.unroll(last, loop).ok();
  (void)schedule_.vectorize(last, lanes.back()).ok();
  (void)join_outer(last, outer);
  outer.insert(outer.end(), panel.begin(), panel.end());
  return outer;
}

// Orders the sums: R0, S2, R1, S3.
void Sketcher::order_sums(const std::string& sums, const TileLevels& levels) {
  const te::Compute own = *compute(sums);
  std::vector<std::string> loops = schedule_.loops(sums), order, middle, terms, inner;
  BYOC_CHECK(loops.size() == own.axes.size() + own.reduce.size(), "stage ", sums, " has ",
             loops.size(), " loops before its tile is made");
  for (size_t k = 0; k < own.axes.size(); ++k) {
    const Level* level = levels.of(k);
    if (level == nullptr) {
      order.push_back(loops[k]);
    } else if (level->middle > 1 && schedule_.split(sums, loops[k], level->inner).ok()) {
      middle.push_back(loops[k] + ".o");
      if (k != levels.lanes.axis) inner.push_back(loops[k] + ".i");
    } else if (k != levels.lanes.axis) {
      inner.push_back(loops[k]);
    }
  }
  for (size_t r = 0; r < own.reduce.size(); ++r) {
    std::string loop = loops[own.axes.size() + r];
    const bool is_split = rules_.terms > 0 && r == longest_axis(own.reduce) &&
                          rules_.terms < extent_of(own.reduce[r]);
    if (is_split && schedule_.split(sums, loop, rules_.terms).ok()) {
      order.push_back(loop + ".o");
      loop += ".i";
    }
    terms.push_back(loop);
  }
  const std::string lane = loops[levels.lanes.axis] + (levels.lanes.middle > 1 ? ".i" : "");
  for (const auto* part : {&middle, &terms, &inner})
    order.insert(order.end(), part->begin(), part->end());
  order.push_back(lane);
  if (!schedule_.reorder(sums, order).ok()) return;
  const int64_t last = extent_of(own.reduce.back()), split = rules_.terms;
  const bool is_split = split > 0 && longest_axis(own.reduce) + 1 == own.reduce.size();
  const int64_t extent = is_split ? std::min(split, last) : last;
  if (extent * levels.inner_vectors() <= rules_.unroll)
    (void)schedule_.unroll(sums, terms.back()).ok();
  for (const std::string& loop : inner) (void)schedule_.unroll(sums, loop).ok();
  (void)schedule_.vectorize(sums, lane).ok();
}

// Computes stages that tiles read in the tiles' own loops.
void Sketcher::fetch(const std::string& last, const std::string& loop) {
  const std::vector<std::string> all = names();
  for (size_t k = all.size(); k-- > 0;) {
    const te::Compute* own = compute(all[k]);
    if (!own || !own->reduce.empty() || is_inlined(all[k]) || is_planned(all[k])) continue;
    if (schedule_.compute_at(all[k], last, loop).ok()) hosted_.push_back(all[k]);
  }
}

void Sketcher::tile(const std::string& name) {
  const int64_t lanes = lanes_of(name);
  const std::optional<TileAxes> axes = tile_axes(*compute(name));
  if (!axes) return;
  const TileLevels levels = levels_of(*compute(name), *axes, rules_, lanes);
  const std::optional<topi::SumStages> stages = with_last_step(name);
  if (!stages || is_planned(stages->last)) return;
  planned_.insert(planned_.end(), {stages->last, stages->sums});
  const std::vector<std::string> outer = order_last(stages->last, levels);
  if (outer.empty() || !schedule_.compute_at(stages->sums, stages->last, outer.back()).ok()) return;
  hosted_.push_back(stages->sums);
  order_sums(stages->sums, levels);
  if (rules_.has_fetch) fetch(stages->last, outer.back());
  parallelize(stages->last, outer, rules_.grain);
}

// ---- partial results

// Keeps partial results of parts of the first loop over terms, each of which one thread computes.
void Sketcher::divide_among_threads(const std::string& name) {
  const size_t spatial = compute(name)->axes.size();
  const std::string loop = schedule_.loops(name)[spatial];
  const int64_t extent = extent_of(compute(name)->reduce.front()), parts = 2 * target_.threads;
  if (!schedule_.split(name, loop, (extent + parts - 1) / parts).ok()) return;
  if (!schedule_.rfactor(name, loop + ".o").ok()) return;
  const std::vector<std::string> all = names();
  const auto own = std::ranges::find(all, name);
  BYOC_CHECK(own != all.begin() && own != all.end(), "no stage comes before ", name);
  const std::string partial = *(own - 1);
  std::vector<std::string> order = schedule_.loops(partial);
  BYOC_CHECK(spatial < order.size(), "loop ", spatial, " of ", order.size(), " of ", partial);
  std::rotate(order.begin(), order.begin() + static_cast<ptrdiff_t>(spatial),
              order.begin() + static_cast<ptrdiff_t>(spatial) + 1);
  if (!schedule_.reorder(partial, order).ok()) return;
  planned_.push_back(partial);
  parallelize(partial, {order.front()}, rules_.grain);
}

void Sketcher::compute_by(const std::string& name, Rule rule) {
  if (is_planned(name)) return;
  switch (rule) {
    case Rule::kTiles:
      return tile(name);
    case Rule::kLanes:
      return sum_in_lanes(name, rules_.partials, kLeastVectors);
    case Rule::kParts:
      return divide_among_threads(name);
    case Rule::kLoops:
      return;
  }
}

// ---- other stages

// Returns the number of leading loops of `host` in which a stage may be computed without computing
// an element twice.
size_t Sketcher::depth_of(const std::string& name, const std::string& host) const {
  BYOC_CHECK(compute(name) && compute(host), "stages ", name, " and ", host, " are computed");
  const te::Compute& own = *compute(name);
  const te::Compute& result = *compute(host);
  size_t most = std::min({own.axes.size(), result.axes.size(), rules_.depth});
  for (size_t d = 0; d < most; ++d) {
    if (extent_of(own.axes[d]) != extent_of(result.axes[d])) most = d;
  }
  for (const te::Stage* reader : readers(stage(name))) {
    if (!std::holds_alternative<te::Compute>(reader->kind)) return 0;
    while (most > 0 && !reads_rows_of(name, *reader, most)) --most;
  }
  return most;
}

// Computes the stages before a result in its loops. Returns the number of loops that are used.
size_t Sketcher::host_producers(const std::string& name) {
  const std::vector<std::string> all = names(), loops = schedule_.loops(name);
  size_t used = 0;
  for (size_t k = all.size(); k-- > 0;) {
    if (all[k] == name || compute(all[k]) == nullptr || is_inlined(all[k])) continue;
    if (is_hosted(all[k]) || is_result(stage(all[k]))) continue;
    const size_t depth = depth_of(all[k], name);
    BYOC_CHECK(depth <= loops.size(), "depth ", depth, " of ", loops.size(), " loops of ", name);
    if (depth == 0 || !schedule_.compute_at(all[k], name, loops[depth - 1]).ok()) continue;
    hosted_.push_back(all[k]);
    used = std::max(used, depth);
  }
  return used;
}

// Returns an axis along which an operand is read element by element, as in a transposition.
std::optional<size_t> Sketcher::crossed_axis(const te::Compute& own) const {
  for (size_t k = 0; k + 1 < own.axes.size(); ++k) {
    for (const te::Load* load : topi::loads_of(own)) {
      if (extent_of(own.axes[k]) > 1 && topi::stride_of(*load, own.axes[k].var) == 1) return k;
    }
  }
  return std::nullopt;
}

void Sketcher::plan_elementwise(const std::string& name) {
  const te::Compute own = *compute(name);
  const size_t rank = own.axes.size();
  if (rank == 0) return;
  const size_t used = is_hosted(name) ? rank : host_producers(name);
  std::vector<std::string> loops = schedule_.loops(name);
  for (size_t k = 1; k < rules_.joined && loops.size() > used + 1; ++k) {
    if (!schedule_.fuse(name, loops[loops.size() - 2], loops.back()).ok()) break;
    loops = schedule_.loops(name);
  }
  BYOC_CHECK(!loops.empty() && loops.size() <= rank, "stage ", name, " of rank ", rank, " has ",
             loops.size(), " loops");
  std::string inner = loops.back();
  int64_t row = 1;  // of the innermost loop
  for (size_t k = loops.size() - 1; k < rank; ++k) row *= extent_of(own.axes[k]);
  const int64_t width = std::max<int64_t>(rules_.vectors, 1) * lanes_of(name);
  const std::optional<size_t> crossed = crossed_axis(own);
  if (rules_.vectors > 0 && row > width && schedule_.split(name, inner, width).ok()) {
    loops.back() = inner + ".o";
    inner += ".i";
  }
  const bool is_tiled =
      crossed && *crossed >= used && loops.size() == rank && inner != loops.back();
  if (rules_.blocks > 1 && is_tiled && schedule_.split(name, loops[*crossed], rules_.blocks).ok()) {
    const std::string block = loops[*crossed] + ".i";
    loops[*crossed] += ".o";
    loops.insert(loops.end(), {block, inner});
    (void)(schedule_.reorder(name, loops).ok() && schedule_.unroll(name, block).ok());
  }
  (void)schedule_.vectorize(name, inner).ok();
  const std::vector<std::string> outer = schedule_.loops(name);
  if (!is_hosted(name) && outer.size() > 1)
    parallelize(name, {outer.begin(), outer.end() - 1}, rules_.grain);
}

void Sketcher::plan_reduction(const std::string& name) {
  if (!is_hosted(name) && is_result(stage(name))) (void)host_producers(name);
  const te::Compute own = *compute(name);
  const std::vector<std::string> loops = schedule_.loops(name);
  if (own.reduce.size() == 1 && extent_of(own.reduce[0]) <= rules_.unroll)
    (void)schedule_.unroll(name, loops.back()).ok();
  const auto shared = static_cast<ptrdiff_t>(std::max<size_t>(own.axes.size(), 2) - 1);
  if (!is_hosted(name) && !own.axes.empty())  // the last axis stays a loop of its own
    parallelize(name, {loops.begin(), loops.begin() + shared}, rules_.grain);
}

void Sketcher::plan_loops(const std::string& name) {
  const te::Compute* own = compute(name);
  if (!own || is_inlined(name) || is_planned(name)) return;
  planned_.push_back(name);
  if (own->reduce.empty()) plan_elementwise(name);
  else plan_reduction(name);
}

te::Schedule Sketcher::make() && {
  const std::vector<Reduction> reductions = main_reductions(schedule_.dag(), target_);
  const std::vector<Rule> rules = rules_in(rules_.derivation, reductions);
  BYOC_CHECK(rules.size() == reductions.size(), "a rule per reduction, got ", rules.size());
  state_computes();
  inline_stages(rules_.inlining);
  for (bool is_tiles : {true, false}) {  // partial results are refused where operands are placed
    for (size_t k = 0; k < reductions.size(); ++k) {
      if ((rules[k] == Rule::kTiles) == is_tiles) compute_by(reductions[k].stage, rules[k]);
    }
  }
  const std::vector<std::string> all = names();
  for (size_t k = all.size(); k-- > 0;) plan_loops(all[k]);
  return std::move(schedule_);
}

}  // namespace

te::Schedule sketch_of(const te::Dag& dag, const te::Target& target, const SketchRules& rules) {
  return Sketcher(dag, target, rules).make();
}

}  // namespace byoc::llvm_plugin::sketch
