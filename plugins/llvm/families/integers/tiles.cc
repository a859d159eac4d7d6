// SPDX-License-Identifier: Apache-2.0
// Schedules blocks of rows by 32 columns: the micro-kernel byte_tiles adds up a chunk of terms
// after the other, so that the columns' part of the chunk stays in the first cache for all rows;
// then the stages after the sums are computed from them. Each block of sums is in the workspace.
#include "plugins/llvm/families/integers/tiles.h"

#include <algorithm>

#include "byoc/base/check.h"
#include "plugins/llvm/emit/micro_kernels.h"
#include "plugins/llvm/families/calls.h"
#include "plugins/llvm/tiling/access.h"
#include "plugins/llvm/tiling/staged_schedule.h"
#include "plugins/llvm/tiling/tile.h"
#include "plugins/llvm/topi/points.h"

namespace byoc::llvm_plugin::integers {
namespace {

using te::Expr;
using te::Exprs;
using te::Tensor;

constexpr int64_t kLane = 4;       // bytes of a lane
constexpr int64_t kLeastRows = 8;  // fewer rows leave most of a tile empty

std::string axis_name(size_t axis) { return cat("i", axis); }

// Returns the last axis before the columns with several rows.
size_t row_axis(const Ints& shape) {
  size_t axis = shape.size() - 2;
  while (axis > 0 && shape[axis] == 1) --axis;
  return shape[axis] == 1 ? shape.size() - 2 : axis;
}

// Returns the stage of the sums; the number of stages: there is none.
size_t sums_of(const te::Dag& dag) {
  const auto found = std::ranges::find_if(dag.stages, [](const te::Stage& stage) {
    const te::Compute* compute = topi::compute_of(stage);
    return compute != nullptr && !compute->reduce.empty() && stage.compute == kTilesCompute;
  });
  return static_cast<size_t>(found - dag.stages.begin());
}

class TilesScheduler {
 public:
  TilesScheduler(const te::Dag& dag, const te::Target& target, size_t anchor,
                 const topi::Point& point)
      : dag_(dag), target_(target), anchor_(anchor), schedule_(dag) {
    for (size_t d = 0; d < dag.stages[anchor].outputs[0].rank(); ++d)
      shape_.push_back(topi::extent_at(dag.stages[anchor], d));
    rows_ = row_axis(shape_);
    const int64_t blocks =
        (shape_[rows_] + topi::number_at(point, "rows") - 1) / topi::number_at(point, "rows");
    block_ = (shape_[rows_] + blocks - 1) / blocks;
    block_ = std::min((block_ + kTileRows - 1) / kTileRows * kTileRows, shape_[rows_]);
    terms_ = topi::number_at(point, "terms");
  }
  Result<te::Schedule> run();

 private:
  std::string result_loop(size_t axis) const;
  Status order_result();
  Status order_alone();
  Status order_sums(const std::string& rows, const std::string& columns);
  Status order_producers();
  size_t last() const { return shape_.size() - 1; }

  const te::Dag& dag_;
  const te::Target& target_;
  const size_t anchor_;
  te::Schedule schedule_;
  Ints shape_;
  size_t rows_ = 0;
  int64_t block_ = 0, terms_ = 0;
  std::optional<topi::AnchorDag> what_;
  std::string sums_, result_;
};

// Returns the loop of the result over an axis of the sums.
std::string TilesScheduler::result_loop(size_t axis) const {
  if (axis < what_->fused_axis) return axis_name(axis);
  if (axis > what_->fused_axis) return axis_name(axis + 1);
  return cat(axis_name(axis), ".", axis_name(axis + 1));
}

// Orders the result: other axes, panels of columns, blocks of rows, a block.
Status TilesScheduler::order_result() {
  result_ = dag_.stages[what_->result].name;
  if (what_->result == anchor_) {
    BYOC_TRY_STATUS(schedule_.cache_write(result_));
    sums_ = result_ + ".cache";
  }
  BYOC_TRY_STATUS(topi::inline_where(schedule_, dag_,
                                     [&](size_t s) { return s > anchor_ && s != what_->result; }));
  if (const size_t axis = what_->fused_axis; axis < shape_.size())
    BYOC_TRY_STATUS(schedule_.fuse(result_, axis_name(axis), axis_name(axis + 1)));
  const std::string rows = result_loop(rows_), columns = result_loop(last());
  BYOC_TRY_STATUS(schedule_.split(result_, rows, block_));
  BYOC_TRY_STATUS(schedule_.split(result_, columns, kTileColumns));
  std::vector<std::string> outer;
  for (size_t axis = 0; axis < last(); ++axis) {
    if (axis != rows_) outer.push_back(result_loop(axis));
  }
  outer.insert(outer.end(), {columns + ".o", rows + ".o"});
  std::vector<std::string> order = outer;
  order.insert(order.end(), {rows + ".i", columns + ".i"});
  BYOC_TRY_STATUS(schedule_.reorder(result_, order));
  BYOC_TRY(const std::string shared, topi::fuse_all(schedule_, result_, outer));
  BYOC_TRY_STATUS(schedule_.parallel(result_, shared));
  BYOC_TRY_STATUS(schedule_.compute_at(sums_, result_, shared));
  BYOC_TRY_STATUS(schedule_.vectorize(result_, columns + ".i"));
  return order_sums(axis_name(rows_), axis_name(last()));
}

// Orders sums that are read in other ways than element by element: they are computed first.
Status TilesScheduler::order_alone() {
  const std::string rows = axis_name(rows_), columns = axis_name(last());
  BYOC_TRY_STATUS(schedule_.split(sums_, rows, block_));
  BYOC_TRY_STATUS(schedule_.split(sums_, columns, kTileColumns));
  BYOC_TRY_STATUS(order_sums(rows + ".i", columns + ".i"));
  BYOC_TRY_STATUS(schedule_.parallel(sums_, columns + ".o"));
  BYOC_TRY_STATUS(topi::inline_where(schedule_, dag_, [&](size_t s) {
    const te::Stage& stage = dag_.stages[s];
    const bool is_output = std::ranges::any_of(
        dag_.outputs, [&](const te::Tensor& output) { return te::stage_of(dag_, output) == s; });
    return s > anchor_ && !is_output && topi::compute_of(stage)->reduce.empty();
  }));
  for (const te::Tensor& output : dag_.outputs) {
    const te::Stage& stage = dag_.stages[te::stage_of(dag_, output)];
    const te::Compute* compute = topi::compute_of(stage);
    if (compute == nullptr || !compute->reduce.empty()) continue;
    BYOC_TRY_STATUS(
        topi::order_moved(schedule_, stage, target_.lanes(dtype_size(stage.outputs[0].dtype()))));
  }
  return {};
}

// Orders the loops around and in the micro-kernel: chunks of terms outside of all rows.
Status TilesScheduler::order_sums(const std::string& rows, const std::string& columns) {
  BYOC_TRY_STATUS(schedule_.split(sums_, "r0", terms_ / kLane));
  std::vector<std::string> order;
  for (const std::string& loop : schedule_.loops(sums_)) {
    const bool is_inner =
        loop == rows || loop == columns || loop == "r0.i" || loop == "r0.o" || loop == "r1";
    if (!is_inner) order.push_back(loop);
  }
  std::ranges::stable_partition(order, [&](const std::string& loop) {
    return loop != axis_name(rows_) + ".o";  // columns outside, their part of a chunk stays
  });
  order.insert(order.end(), {"r0.o", rows, columns, "r0.i", "r1"});
  BYOC_TRY_STATUS(schedule_.reorder(sums_, order));
  return schedule_.tensorize(sums_, rows, byte_tiles());
}

// Schedules producers, such as rows that end with zeros.
Status TilesScheduler::order_producers() {
  for (size_t s = 0; s < anchor_; ++s) {
    const te::Compute* compute = topi::compute_of(dag_.stages[s]);
    if (compute == nullptr || compute->axes.empty() || !compute->reduce.empty()) continue;
    BYOC_TRY_STATUS(topi::order_moved(
        schedule_, dag_.stages[s], target_.lanes(dtype_size(dag_.stages[s].outputs[0].dtype()))));
  }
  return {};
}

Result<te::Schedule> TilesScheduler::run() {
  sums_ = dag_.stages[anchor_].name;
  BYOC_TRY_STATUS(schedule_.for_compute(sums_, dag_.stages[anchor_].compute));
  what_ = topi::find_anchor_stage(dag_);
  BYOC_TRY_STATUS(what_ && what_->joined == 1 ? order_result() : order_alone());
  BYOC_TRY_STATUS(order_producers());
  return std::move(schedule_);
}

// Returns a multiple of `step`, at least x.
int64_t whole(int64_t x, int64_t step) { return (x + step - 1) / step * step; }

// Adds the stage of the weights, [columns / 32, terms / 4, 32, 4], with zeros at their ends.
Tensor panels_of(te::Builder& builder, const Tensor& b, int64_t terms, int64_t columns) {
  const int64_t k = *te::as_int(b.shape()[0]), n = *te::as_int(b.shape()[1]);
  const Exprs shape = {columns / kTileColumns, terms / kLane, kTileColumns, kLane};
  return builder.compute("panels", shape, [&](const Exprs& i) {
    const Expr row = i[1] * kLane + i[3], column = i[0] * kTileColumns + i[2];
    if (k == terms && n == columns) return b(row, column);
    return te::select(row < Expr(k) && column < Expr(n), b(row, column),
                      te::int_constant(DType::kI8, 0));
  });
}

// Adds rows of so many terms, with zeros at their ends.
Tensor with_zeros(te::Builder& builder, const Tensor& a, int64_t terms) {
  const Expr k = a.shape().back();
  Exprs shape = a.shape();
  shape.back() = terms;
  return builder.compute("rows", shape, [&](const Exprs& i) {
    return te::select(i.back() < k, a(i), te::int_constant(DType::kU8, 0));
  });
}

}  // namespace

bool pays_tiles(const te::Site& site) {
  if (!site.target->has("amx-int8")) return false;
  const Shape &a = site.inputs[0]->shape, &b = site.inputs[1]->shape;
  if (!is_static(a) || !is_static(b) || a.size() < 2) return false;
  const Ints rows = static_extents(a);
  return rows[row_axis(rows)] >= kLeastRows && b[1].extent() >= kTileColumns &&
         b[0].extent() >= kTileTerms / 2;
}

te::Strategy product_of_tiles() {
  te::Strategy out{.name = std::string(kTilesCompute), .level = kPreferred};
  out.compute = [](te::Builder& builder, std::span<const Tensor> in, Types types,
                   const Attrs&) -> Result<std::vector<Tensor>> {
    const int64_t k = *te::as_int(in[1].shape()[0]), n = *te::as_int(in[1].shape()[1]);
    const int64_t terms = whole(k, kTileTerms), columns = whole(n, kTileColumns);
    const Tensor panels = panels_of(builder, in[1], terms, columns);
    const Tensor a = terms == k ? in[0] : with_zeros(builder, in[0], terms);
    auto term = [&](const Exprs& i, const Exprs& r) {
      Exprs at = i;
      at.back() = r[0] * kLane + r[1];
      const Expr panel = floor_div(i.back(), kTileColumns);
      return te::cast(DType::kI32, a(at)) *
             te::cast(DType::kI32, panels(panel, r[0], floor_mod(i.back(), kTileColumns), r[1]));
    };
    Exprs shape = te::extents_of(*types[0]);
    shape.back() = columns;
    Tensor y =
        builder.reduce("product", shape, {terms / kLane, kLane}, te::sum_of(DType::kI32), term);
    if (columns != n)
      y = builder.compute("columns", te::extents_of(*types[0]),
                          [&](const Exprs& i) { return y(i); });
    return std::vector<Tensor>{y};
  };
  return out;
}

std::optional<topi::Template> tiles_schedules(const te::Dag& dag, const te::Target& target) {
  const size_t anchor = sums_of(dag);
  if (anchor == dag.stages.size()) return std::nullopt;
  topi::Point first{{"rows", "128"}, {"terms", "1024"}};
  auto choices = [first] {
    return topi::complete(
        {topi::knob_of("rows", {32, 64, 128, 256}), topi::knob_of("terms", {512, 1024, 2048})},
        {first});
  };
  auto at = [&dag, target, anchor](const topi::Point& point) {
    return TilesScheduler(dag, target, anchor, point).run();
  };
  return topi::Template{"byte_tiles", first, choices, at};
}

}  // namespace byoc::llvm_plugin::integers
