// SPDX-License-Identifier: Apache-2.0
// Convolutions of every channel with itself, row by row.
#include "plugins/llvm/families/family.h"
#include "plugins/llvm/families/depthwise/cells.h"
#include "plugins/llvm/topi/points.h"

namespace byoc::llvm_plugin::depthwise {
namespace {

using namespace topi;

std::optional<Template> schedules(const te::Dag& dag, const te::Target& target) {
  std::optional<AnchorDag> what = find_anchor_of_rows(dag);
  if (!what) return std::nullopt;
  std::optional<ConvExtents> e = conv_extents(dag.stages[what->anchor]);
  if (!e || e->c * e->inner != 1 || e->kw > kMostColumns) return std::nullopt;
  const RowTiling first{even_tile(e->w, most_cells(target.vector_registers)), 1, Taps::kInCells};
  return row_template("depthwise", dag, *what, {e->n, e->blocks, e->h, e->w, e->kw}, first, target);
}

}  // namespace

extern const Family kFamily{.name = "depthwise", .schedules = schedules};

}  // namespace byoc::llvm_plugin::depthwise
