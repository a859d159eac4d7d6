// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "plugins/llvm/families/family.h"
#include "plugins/llvm/tiling/access.h"
#include "plugins/llvm/topi/points.h"

namespace byoc::llvm_plugin::stem {
namespace {

using namespace topi;

constexpr size_t kPlainRank = 4;  // blocked ones have 5, their weights 6

bool reads_plain_image(const te::Stage& anchor) {
  auto loads = loads_of(std::get<te::Compute>(anchor.kind));
  return std::any_of(loads.begin(), loads.end(),
                     [](const te::Load* load) { return load->tensor.rank() == kPlainRank; });
}

constexpr int64_t kFewTaps = 3;

// Returns a tiling with as many sums as hide the latency of a multiply-add, with the weights of one
// tap; where taps are written out, also the elements of the image that the next tap reads again.
RowTiling tiling_of(const ConvExtents& e, const te::Target& target) {
  const bool is_narrow = e.kw <= kFewTaps;
  if (is_narrow && e.blocks % 2 == 0 && target.vector_registers >= 32)
    return {even_tile(e.w, 8), 2, Taps::kInCells};
  const Taps taps = is_narrow ? Taps::kAroundCells : Taps::kLoop;
  if (e.blocks % 2 == 0) return {even_tile(e.w, is_narrow ? 4 : 6), 2, taps};
  if (e.blocks % 3 == 0) return {even_tile(e.w, is_narrow ? 3 : 4), 3, taps};
  return {even_tile(e.w, 8), 1, is_narrow ? Taps::kInCells : Taps::kLoop};
}

std::optional<Template> schedules(const te::Dag& dag, const te::Target& target) {
  std::optional<AnchorDag> what = find_anchor_of_rows(dag);
  if (!what || !reads_plain_image(dag.stages[what->anchor])) return std::nullopt;
  std::optional<ConvExtents> e = conv_extents(dag.stages[what->anchor]);
  if (!e) return std::nullopt;
  return row_template("stem", dag, *what, {e->n, e->blocks, e->h, e->w, e->kw},
                      tiling_of(*e, target), target);
}

}  // namespace

extern const Family kFamily{.name = "stem", .schedules = schedules};

}  // namespace byoc::llvm_plugin::stem
