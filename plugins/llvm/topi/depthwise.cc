// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/topi/depthwise.h"

#include "plugins/llvm/topi/points.h"

namespace byoc::llvm_plugin::topi {
namespace {

constexpr int64_t kMostColumns = 7;  // of a window: they are written out

// Eight sums of a row hide the latency of a multiply-add, and leave registers for the weights of a
// row of the window; each element of the image is loaded once and meets every cell that it reaches.
// Where there are twice as many registers, more cells share the weights.
constexpr int64_t kCells = 8, kCellsOfManyRegisters = 14;

}  // namespace

std::optional<Template> depthwise_template(const te::Dag& dag, const te::Target& target) {
  std::optional<AnchorDag> what = find_anchor_stage(dag);
  if (!what) return std::nullopt;
  std::optional<ConvExtents> e = conv_extents(dag.stages[what->anchor]);
  if (!e || e->c * e->inner != 1 || e->kw > kMostColumns) return std::nullopt;
  const int64_t cells = target.vector_registers < 32 ? kCells : kCellsOfManyRegisters;
  const RowTiling first{even_tile(e->w, cells), 1, Taps::kInCells};
  return row_template("depthwise", dag, *what, {e->n, e->blocks, e->h, e->w, e->kw}, first, target);
}

}  // namespace byoc::llvm_plugin::topi
