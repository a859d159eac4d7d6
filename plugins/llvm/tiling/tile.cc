// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/tiling/tile.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "byoc/base/check.h"
#include "plugins/llvm/tiling/access.h"
#include "plugins/llvm/tiling/staged_schedule.h"

namespace byoc::llvm_plugin::topi {
namespace {

using te::Dag;
using te::Schedule;

constexpr int64_t kWrittenTerms = 8;  // of a matrix that is unpacked

std::string name(const char* prefix, size_t axis) { return cat(prefix, axis); }

class Tiler {
 public:
  Tiler(const Dag& dag, const AnchorDag& what, const Tiling& tiling, int64_t lanes)
      : dag_(dag), what_(what), tiling_(tiling), lanes_(lanes), schedule_(dag) {}
  Result<Schedule> run();

 private:
  Status inline_others();
  Status fuse_result();
  Result<std::vector<std::string>> panels(std::vector<std::string>& inner);
  Result<std::string> parallelise(const std::vector<std::string>& outer, size_t count);
  Status tile_loops(const std::string& stage, const std::vector<std::string>& first,
                    const std::vector<size_t>& axes, const std::vector<std::string>& loops);
  Status order_at_once();
  Status order_in_chunks();
  Status order_tile();
  Status unpack_inside(const std::string& stage);
  Status store_in_turns(const std::string& stage);
  Status finish_producers();
  bool ends_with_function() const;
  size_t rank() const { return dag_.stages[what_.anchor].outputs[0].rank(); }
  const Tiling::Part* tiled(size_t axis) const;
  const Tiling::Part* in_panel(size_t axis) const;
  std::string result_loop(size_t axis) const;
  int64_t tiles_along(size_t axis) const;
  std::vector<size_t> panel_axes() const;

  const Dag& dag_;
  const AnchorDag& what_;
  const Tiling& tiling_;
  const int64_t lanes_;
  Schedule schedule_;
  std::string sums_, tile_, result_;  // stages
  std::string around_;                // the loop around a panel, or a chunk of one
};

const Tiling::Part* Tiler::tiled(size_t axis) const {
  if (tiling_.vectorized.axis == axis) return &tiling_.vectorized;
  auto found = std::ranges::find(tiling_.unrolled, axis, &Tiling::Part::axis);
  return found == tiling_.unrolled.end() ? nullptr : &*found;
}

const Tiling::Part* Tiler::in_panel(size_t axis) const {
  auto found = std::ranges::find(tiling_.panel, axis, &Tiling::Part::axis);
  return found == tiling_.panel.end() ? nullptr : &*found;
}

// Returns the loop of the result over the anchor's `axis`.
std::string Tiler::result_loop(size_t axis) const {
  if (axis == 1 && what_.joined > 1) return "i1.o";
  if (axis < what_.fused_axis) return name("i", axis);
  if (axis > what_.fused_axis) return name("i", axis + 1);
  return cat("i", axis, ".i", axis + 1);
}

int64_t Tiler::tiles_along(size_t axis) const {
  const int64_t extent = te::as_int(dag_.stages[what_.anchor].outputs[0].shape()[axis]).value_or(1);
  const Tiling::Part* part = tiled(axis);
  return part == nullptr ? extent : (extent + part->factor - 1) / part->factor;
}

std::vector<size_t> Tiler::panel_axes() const {
  std::vector<size_t> out;
  for (const Tiling::Part& part : tiling_.panel) out.push_back(part.axis);
  return out;
}

// Inlines elementwise stages. Stages that come before the anchor in the Dag stay
// stages of their own.
Status Tiler::inline_others() {
  return inline_where(schedule_, dag_, [&](size_t s) {
    return s > what_.anchor && s != what_.result &&
           std::ranges::find(what_.moved, s) == what_.moved.end();
  });
}

// Gives the result the axes of the anchor. Blocks that the anchor has as one get their own loop.
Status Tiler::fuse_result() {
  const size_t axis = what_.fused_axis;
  if (what_.joined > 1) BYOC_TRY_STATUS(schedule_.split(result_, "i1", what_.joined));
  return axis == rank() ? Status() : schedule_.fuse(result_, name("i", axis), name("i", axis + 1));
}

// Returns the result's loops around panels, and in `inner` those within, by the order of the panel.
Result<std::vector<std::string>> Tiler::panels(std::vector<std::string>& inner) {
  std::vector<std::string> outer;
  for (size_t axis = 0; axis < rank(); ++axis) {
    if (in_panel(axis) == nullptr) outer.push_back(result_loop(axis));
  }
  for (const Tiling::Part& part : tiling_.panel) {
    const std::string loop = result_loop(part.axis);
    if (part.factor == 0) {
      inner.push_back(loop);
      continue;
    }
    BYOC_TRY_STATUS(schedule_.split(result_, loop, part.factor));
    outer.push_back(loop + ".o");
    inner.push_back(loop + ".i");
  }
  return outer;
}

// Fuses the first `count` of these loops, runs the result over the thread pool, and
// returns its name.
Result<std::string> Tiler::parallelise(const std::vector<std::string>& outer, size_t count) {
  BYOC_TRY(
      std::string fused,
      fuse_all(schedule_, result_, {outer.begin(), outer.begin() + static_cast<ptrdiff_t>(count)}));
  BYOC_TRY_STATUS(schedule_.parallel(result_, fused));
  return fused;
}

// Returns true when a stage after the sums computes exp or the like.
bool Tiler::ends_with_function() const {
  for (size_t s = what_.anchor + 1; s <= what_.result; ++s) {
    const te::Compute* compute = compute_of(dag_.stages[s]);
    if (compute != nullptr && work_of(*compute) >= kFunctionWork) return true;
  }
  return false;
}

// Orders the loops: `first`, the loops of `axes` around tiles, in which `tile` is computed, and
// the tiles' loops.
Status Tiler::tile_loops(const std::string& stage, const std::vector<std::string>& first,
                         const std::vector<size_t>& axes, const std::vector<std::string>& loops) {
  BYOC_CHECK(axes.size() == loops.size() && !axes.empty(), axes.size(), " axes of ", stage,
             " have ", loops.size(), " loops");
  const bool is_joined = stage == result_ && what_.joined > 1;
  std::vector<std::string> order = first, inner;
  for (size_t k = 0; k < axes.size(); ++k) {
    const Tiling::Part* part = tiled(axes[k]);
    const bool is_lane = part == &tiling_.vectorized && is_joined;
    if (part != nullptr)
      BYOC_TRY_STATUS(
          schedule_.split(stage, loops[k], is_lane ? part->factor / what_.joined : part->factor));
    order.push_back(loops[k] + (part != nullptr ? ".o" : ""));
  }
  const std::string around = order.back();
  auto add_inner = [&](size_t axis) {
    const size_t at = static_cast<size_t>(std::ranges::find(axes, axis) - axes.begin());
    BYOC_CHECK(at < loops.size(), "a tile of axis ", axis, ", along which there is no loop");
    inner.push_back(loops[at] + ".i");
  };
  for (const Tiling::Part& part : tiling_.unrolled) add_inner(part.axis);
  if (is_joined) inner.push_back("i1.i");
  add_inner(tiling_.vectorized.axis);
  order.insert(order.end(), inner.begin(), inner.end());
  BYOC_TRY_STATUS(schedule_.reorder(stage, order));
  BYOC_TRY_STATUS(schedule_.compute_at(tile_, stage, around));
  // Written out, the functions of a tile need more registers than there are: they stay a loop.
  const bool is_loop = stage == result_ && ends_with_function();
  for (size_t k = 0; k + 1 < inner.size() && !is_loop; ++k)
    BYOC_TRY_STATUS(schedule_.unroll(stage, inner[k]));
  return schedule_.vectorize(stage, inner.back());
}

// Orders the result: panels, tiles; the sums of a tile, then the stages after them.
Status Tiler::order_at_once() {
  tile_ = sums_;
  std::vector<std::string> inner;
  BYOC_TRY(std::vector<std::string> outer, panels(inner));
  if (!tiling_.panel.empty()) {
    BYOC_TRY_STATUS(tile_loops(result_, outer, panel_axes(), inner));
    BYOC_TRY(around_, parallelise(outer, outer.size()));
    return {};
  }
  std::vector<size_t> axes(rank());
  std::iota(axes.begin(), axes.end(), 0);
  BYOC_TRY_STATUS(tile_loops(result_, {}, axes, outer));
  for (size_t axis : axes) outer[axis] += tiled(axis) != nullptr ? ".o" : "";
  axes.pop_back();
  const bool has_one_row =
      std::ranges::all_of(axes, [&](size_t axis) { return tiles_along(axis) == 1; });
  if (has_one_row) return schedule_.parallel(result_, outer.back());
  return parallelise(outer, outer.size() - 1).status();
}

// Orders the result: panels of sums, made chunk by chunk, then a pass over the panel
// as it is stored.
Status Tiler::order_in_chunks() {
  const std::string terms = name("r", tiling_.chunk.axis);
  BYOC_TRY_STATUS(schedule_.split(sums_, terms, tiling_.chunk.factor));
  BYOC_TRY_STATUS(schedule_.rfactor(sums_, terms + ".o"));
  tile_ = sums_ + ".partial";
  std::vector<std::string> inner, order, loops;
  BYOC_TRY(order, panels(inner));
  const std::vector<std::string> outer = order;
  std::map<size_t, std::string> stored;
  BYOC_CHECK(inner.size() == tiling_.panel.size(), "a loop per part of a panel, got ",
             inner.size());
  for (size_t k = 0; k < inner.size(); ++k) stored[tiling_.panel[k].axis] = inner[k];
  for (const auto& [axis, loop] : stored) order.push_back(loop);
  BYOC_CHECK(!order.empty(), "stage ", result_, " has no loops to order");
  if (what_.joined > 1) order.insert(order.end() - 1, "i1.i");
  BYOC_TRY_STATUS(schedule_.reorder(result_, order));
  BYOC_TRY_STATUS(schedule_.vectorize(result_, order.back()));
  BYOC_TRY(std::string around, parallelise(outer, outer.size()));
  BYOC_TRY_STATUS(schedule_.compute_at(sums_, result_, around));
  std::vector<size_t> axes;
  for (size_t axis = 0; axis < rank(); ++axis) {
    if (in_panel(axis) == nullptr) axes.push_back(axis);
  }
  for (size_t axis : panel_axes()) axes.push_back(axis);
  for (size_t axis : axes) loops.push_back(name("i", axis));
  around_ = terms + ".o";
  return tile_loops(sums_, {terms + ".o"}, axes, loops);
}

// Orders the sums: terms outside, a tile inside.
Status Tiler::order_tile() {
  std::vector<std::string> order, inner;
  for (size_t axis = 0; axis < rank(); ++axis) {
    if (tiled(axis) == nullptr) order.push_back(name("i", axis));
  }
  BYOC_CHECK(compute_of(dag_.stages[what_.anchor]), "stage ", sums_, " is no sum");
  const te::Compute& compute = *compute_of(dag_.stages[what_.anchor]);
  for (size_t r = 0; r < compute.reduce.size(); ++r) {
    const bool is_chunked = tiling_.chunk.factor > 0 && tiling_.chunk.axis == r;
    if (is_chunked) order.push_back(name("r", r) + ".o");
    order.push_back(name("r", r) + (is_chunked ? ".i" : ""));
  }
  for (const Tiling::Part& part : tiling_.unrolled) inner.push_back(name("i", part.axis));
  inner.push_back(name("i", tiling_.vectorized.axis));
  order.insert(order.end(), inner.begin(), inner.end());
  BYOC_TRY_STATUS(schedule_.reorder(tile_, order));
  for (size_t r : tiling_.unrolled_reduce) BYOC_TRY_STATUS(schedule_.unroll(tile_, name("r", r)));
  for (size_t k = 0; k + 1 < inner.size(); ++k) BYOC_TRY_STATUS(schedule_.unroll(tile_, inner[k]));
  return schedule_.vectorize(tile_, inner.back());
}

// Computes a producer in the loop around the panels, or chunks, that read it: vectors of its last
// axis, parts of the axis before written out, which share what they are made of.
Status Tiler::unpack_inside(const std::string& stage) {
  const bool is_chunked = tiling_.chunk.factor > 0;
  const std::vector<std::string> loops = schedule_.loops(stage);
  BYOC_CHECK(loops.size() > 1, "panels read ", stage);
  BYOC_TRY_STATUS(schedule_.compute_at(stage, is_chunked ? sums_ : result_, around_));
  const std::string& terms = loops[loops.size() - 2];
  BYOC_TRY_STATUS(schedule_.split(stage, terms, kWrittenTerms));
  BYOC_TRY_STATUS(schedule_.unroll(stage, terms + ".i"));
  return schedule_.vectorize(stage, loops.back());
}

// Writes out the last axis around vectors of the one before: each loads one row, and stores of
// several are in turns.
Status Tiler::store_in_turns(const std::string& stage) {
  std::vector<std::string> loops = schedule_.loops(stage);
  BYOC_CHECK(loops.size() > 2, "rows of ", stage, " are stored in turns");
  std::swap(loops[loops.size() - 1], loops[loops.size() - 2]);
  BYOC_TRY_STATUS(schedule_.reorder(stage, loops));
  BYOC_TRY_STATUS(schedule_.unroll(stage, loops[loops.size() - 2]));
  return schedule_.vectorize(stage, loops.back());
}

// Schedules producers, such as padding: they run once, before the tiles, their rows over
// the thread pool.
Status Tiler::finish_producers() {
  for (size_t s = 0; s < what_.anchor; ++s) {
    const te::Compute* compute = compute_of(dag_.stages[s]);
    if (compute == nullptr || compute->axes.empty()) continue;
    const size_t last = compute->axes.size() - 1;
    std::optional<int64_t> extent = te::as_int(compute->axes[last].extent);
    const std::string& stage = dag_.stages[s].name;
    if (!extent || *extent == 0) continue;
    if (dag_.stages[s].role == kUnpackedRole && !around_.empty()) {
      BYOC_TRY_STATUS(unpack_inside(stage));
      continue;
    }
    if (last > 1) {
      BYOC_TRY_STATUS(schedule_.fuse(stage, "i0", "i1"));
      BYOC_TRY_STATUS(schedule_.parallel(stage, "i0.i1"));
    }
    if (dag_.stages[s].role == kInterleavedRole) {
      BYOC_TRY_STATUS(store_in_turns(stage));
      continue;
    }
    if (*extent > 16) {
      BYOC_TRY_STATUS(schedule_.split(stage, name("i", last), 8));
      BYOC_TRY_STATUS(schedule_.vectorize(stage, name("i", last) + ".i"));
    } else {
      BYOC_TRY_STATUS(schedule_.vectorize(stage, name("i", last)));
    }
  }
  return {};
}

Result<Schedule> Tiler::run() {
  BYOC_CHECK(what_.anchor <= what_.result && what_.result < dag_.stages.size(), "stages ",
             what_.anchor, " and ", what_.result, " of ", dag_.stages.size());
  BYOC_CHECK(what_.fused_axis <= rank() && what_.joined > 0, "axis ", what_.fused_axis, " of ",
             rank(), ", blocks joined by ", what_.joined);
  result_ = dag_.stages[what_.result].name;
  sums_ = dag_.stages[what_.anchor].name;
  BYOC_TRY_STATUS(schedule_.for_compute(sums_, dag_.stages[what_.anchor].compute));
  if (what_.result == what_.anchor) {
    BYOC_TRY_STATUS(schedule_.cache_write(result_));
    sums_ = result_ + ".cache";
  }
  BYOC_TRY_STATUS(inline_others());
  BYOC_TRY_STATUS(fuse_result());
  BYOC_TRY_STATUS(tiling_.chunk.factor > 0 ? order_in_chunks() : order_at_once());
  BYOC_TRY_STATUS(order_tile());
  BYOC_TRY_STATUS(finish_producers());
  for (size_t s : what_.moved) BYOC_TRY_STATUS(order_moved(schedule_, dag_.stages[s], lanes_));
  return std::move(schedule_);
}

}  // namespace

Result<Schedule> tile_anchor(const Dag& dag, const AnchorDag& what, const Tiling& tiling,
                             int64_t lanes) {
  return Tiler(dag, what, tiling, lanes).run();
}

}  // namespace byoc::llvm_plugin::topi
