#include "plugins/llvm/topi/tile.h"

#include <algorithm>

namespace byoc::llvm_plugin::topi {
namespace {

using te::Dag;
using te::Schedule;

const te::Compute* compute_of(const te::Stage& stage) {
  return std::get_if<te::Compute>(&stage.kind);
}

bool same_shape(const te::Tensor& a, const te::Tensor& b) {
  if (a.rank() != b.rank()) return false;
  for (size_t d = 0; d < a.rank(); ++d) {
    if (!te::structural_equal(a.shape()[d], b.shape()[d])) return false;
  }
  return true;
}

std::string name(const char* prefix, size_t axis) { return cat(prefix, axis); }

class Tiler {
 public:
  Tiler(const Dag& dag, const AnchorDag& what, const Tiling& tiling)
      : dag_(dag), what_(what), tiling_(tiling), schedule_(dag) {}
  Result<Schedule> run();

 private:
  Status inline_others();
  Result<std::string> parallelise(const std::vector<std::string>& outer, size_t count);
  Result<std::vector<std::string>> tile_loops(const std::string& stage,
                                              const std::vector<std::string>& first);
  Status order_at_once();
  Status order_in_chunks();
  Status order_tile();
  Status finish_producers();
  size_t rank() const { return dag_.stages[what_.anchor].outputs[0].rank(); }
  const Tiling::Part* part(size_t axis) const;

  const Dag& dag_;
  const AnchorDag& what_;
  const Tiling& tiling_;
  Schedule schedule_;
  std::string sums_, tile_, result_;  // stages
};

const Tiling::Part* Tiler::part(size_t axis) const {
  if (tiling_.vectorized.axis == axis) return &tiling_.vectorized;
  for (const Tiling::Part& part : tiling_.unrolled) {
    if (part.axis == axis) return &part;
  }
  return nullptr;
}

// Elementwise stages stand where they are read; what comes before the anchor, in the order of the
// Dag, stays a stage of its own.
Status Tiler::inline_others() {
  for (size_t s = what_.anchor + 1; s < dag_.stages.size(); ++s) {
    const te::Stage& stage = dag_.stages[s];
    if (s == what_.result || compute_of(stage) == nullptr) continue;
    BYOC_TRY_STATUS(schedule_.compute_inline(stage.name));
  }
  return {};
}

// The first `count` of these loops as one, over the thread pool; its name.
Result<std::string> Tiler::parallelise(const std::vector<std::string>& outer, size_t count) {
  std::string fused = outer[0];
  for (size_t k = 1; k < count; ++k) {
    BYOC_TRY_STATUS(schedule_.fuse(result_, fused, outer[k]));
    fused += "." + outer[k];
  }
  BYOC_TRY_STATUS(schedule_.parallel(result_, fused));
  return fused;
}

// Splits the tiled axes of `stage`; the loops around a tile, and computes `tile` there.
Result<std::vector<std::string>> Tiler::tile_loops(const std::string& stage,
                                                   const std::vector<std::string>& first) {
  std::vector<std::string> outer = first, inner;
  std::vector<size_t> axes = tiling_.order;
  for (size_t axis = 0; axes.size() < rank(); ++axis) axes.push_back(axis);
  for (size_t axis : axes) {
    const Tiling::Part* tiled = part(axis);
    if (tiled != nullptr) BYOC_TRY_STATUS(schedule_.split(stage, name("i", axis), tiled->factor));
    outer.push_back(name("i", axis) + (tiled != nullptr ? ".o" : ""));
  }
  for (const Tiling::Part& tiled : tiling_.unrolled) inner.push_back(name("i", tiled.axis) + ".i");
  inner.push_back(name("i", tiling_.vectorized.axis) + ".i");
  std::vector<std::string> order = outer;
  order.insert(order.end(), inner.begin(), inner.end());
  BYOC_TRY_STATUS(schedule_.reorder(stage, order));
  BYOC_TRY_STATUS(schedule_.compute_at(tile_, stage, outer.back()));
  for (size_t k = 0; k + 1 < inner.size(); ++k) BYOC_TRY_STATUS(schedule_.unroll(stage, inner[k]));
  BYOC_TRY_STATUS(schedule_.vectorize(stage, inner.back()));
  return outer;
}

// result: ..., tile; the sums of a tile, then what becomes of them.
Status Tiler::order_at_once() {
  tile_ = sums_;
  BYOC_TRY(std::vector<std::string> outer, tile_loops(result_, {}));
  return outer.size() > 1 ? parallelise(outer, outer.size() - 1).status() : Status();
}

// result: panels of sums, made chunk by chunk, then a pass over the panel.
Status Tiler::order_in_chunks() {
  const std::string terms = name("r", tiling_.chunk.axis);
  BYOC_TRY_STATUS(schedule_.split(sums_, terms, tiling_.chunk.factor));
  BYOC_TRY_STATUS(schedule_.rfactor(sums_, terms + ".o"));
  tile_ = sums_ + ".partial";
  std::vector<std::string> outer, inner;
  for (size_t axis = 0; axis < rank(); ++axis) {
    auto in_panel = std::ranges::find(tiling_.panel, axis, &Tiling::Part::axis);
    const std::string loop = name("i", axis);
    if (in_panel == tiling_.panel.end()) {
      outer.push_back(loop);
    } else if (in_panel->factor == 0) {
      inner.push_back(loop);
    } else {
      BYOC_TRY_STATUS(schedule_.split(result_, loop, in_panel->factor));
      outer.push_back(loop + ".o");
      inner.push_back(loop + ".i");
    }
  }
  std::vector<std::string> order = outer;
  order.insert(order.end(), inner.begin(), inner.end());
  BYOC_TRY_STATUS(schedule_.reorder(result_, order));
  BYOC_TRY_STATUS(schedule_.vectorize(result_, inner.back()));
  BYOC_TRY(std::string panels, parallelise(outer, outer.size()));
  BYOC_TRY_STATUS(schedule_.compute_at(sums_, result_, panels));
  return tile_loops(sums_, {terms + ".o"}).status();
}

// Terms outside, a tile inside.
Status Tiler::order_tile() {
  std::vector<std::string> order, inner;
  for (size_t axis = 0; axis < rank(); ++axis) {
    if (part(axis) == nullptr) order.push_back(name("i", axis));
  }
  const te::Compute& compute = *compute_of(dag_.stages[what_.anchor]);
  for (size_t r = 0; r < compute.reduce.size(); ++r) {
    const bool is_chunked = tiling_.chunk.factor > 0 && tiling_.chunk.axis == r;
    if (is_chunked) order.push_back(name("r", r) + ".o");
    order.push_back(name("r", r) + (is_chunked ? ".i" : ""));
  }
  for (const Tiling::Part& tiled : tiling_.unrolled) inner.push_back(name("i", tiled.axis));
  inner.push_back(name("i", tiling_.vectorized.axis));
  order.insert(order.end(), inner.begin(), inner.end());
  BYOC_TRY_STATUS(schedule_.reorder(tile_, order));
  for (size_t r : tiling_.unrolled_reduce) BYOC_TRY_STATUS(schedule_.unroll(tile_, name("r", r)));
  for (size_t k = 0; k + 1 < inner.size(); ++k) BYOC_TRY_STATUS(schedule_.unroll(tile_, inner[k]));
  return schedule_.vectorize(tile_, inner.back());
}

// Padding and the like: copied once, ahead of the tiles.
Status Tiler::finish_producers() {
  for (size_t s = 0; s < what_.anchor; ++s) {
    const te::Compute* compute = compute_of(dag_.stages[s]);
    if (compute == nullptr || compute->axes.empty()) continue;
    const size_t last = compute->axes.size() - 1;
    std::optional<int64_t> extent = te::as_int(compute->axes[last].extent);
    const std::string& stage = dag_.stages[s].name;
    if (!extent || *extent == 0) continue;
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
  result_ = dag_.stages[what_.result].name;
  sums_ = dag_.stages[what_.anchor].name;
  if (what_.result == what_.anchor) {
    BYOC_TRY_STATUS(schedule_.cache_write(result_));
    sums_ = result_ + ".cache";
  }
  BYOC_TRY_STATUS(inline_others());
  BYOC_TRY_STATUS(tiling_.chunk.factor > 0 ? order_in_chunks() : order_at_once());
  BYOC_TRY_STATUS(order_tile());
  BYOC_TRY_STATUS(finish_producers());
  return std::move(schedule_);
}

}  // namespace

std::optional<AnchorDag> find_anchor_stage(const Dag& dag) {
  if (dag.outputs.size() != 1) return std::nullopt;
  AnchorDag out{dag.stages.size(), te::stage_of(dag, dag.outputs[0])};
  for (size_t s = 0; s < dag.stages.size(); ++s) {
    if (std::holds_alternative<te::Procedure>(dag.stages[s].kind)) return std::nullopt;
    const te::Compute* compute = compute_of(dag.stages[s]);
    if (compute == nullptr || compute->reduce.empty()) continue;
    if (out.anchor < dag.stages.size()) return std::nullopt;
    out.anchor = s;
  }
  if (out.anchor == dag.stages.size() || dag.stages[out.anchor].outputs.size() != 1 ||
      !same_shape(dag.stages[out.anchor].outputs[0], dag.outputs[0]))
    return std::nullopt;
  return out;
}

Result<Schedule> tile_anchor(const Dag& dag, const AnchorDag& what, const Tiling& tiling) {
  return Tiler(dag, what, tiling).run();
}

}  // namespace byoc::llvm_plugin::topi
