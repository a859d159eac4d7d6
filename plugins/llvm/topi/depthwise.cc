// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/topi/depthwise.h"

#include "plugins/llvm/tiling/rows.h"

namespace byoc::llvm_plugin::topi {
namespace {

constexpr int64_t kMostColumns = 7;  // of a window: they are written out

// Eight sums of a row hide the latency of a multiply-add, and leave registers for the weights of a
// row of the window; each element of the image is loaded once and meets every cell that it reaches.
constexpr int64_t kCells = 8;

}  // namespace

te::ScheduleProvider depthwise_schedules(const te::Target&) {
  return [](const te::Dag& dag) -> std::optional<Result<te::Schedule>> {
    std::optional<AnchorDag> what = find_anchor_stage(dag);
    if (!what) return std::nullopt;
    std::optional<ConvExtents> e = conv_extents(dag.stages[what->anchor]);
    if (!e || e->c * e->inner != 1 || e->kw > kMostColumns) return std::nullopt;
    return tile_rows(dag, *what, {even_tile(e->w, kCells), 1, Taps::kInCells});
  };
}

}  // namespace byoc::llvm_plugin::topi
