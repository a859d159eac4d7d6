// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/tiling/rows.h"

#include <algorithm>

#include "byoc/base/check.h"
#include "plugins/llvm/tiling/access.h"
#include "plugins/llvm/tiling/staged_schedule.h"

namespace byoc::llvm_plugin::topi {
namespace {

constexpr int64_t kParallelism = 8;  // parts that threads share, at least
constexpr int64_t kEvenTenths = 11;  // of an equal share: the most that a thread computes

class RowTiler {
 public:
  RowTiler(const te::Dag& dag, const AnchorDag& what, const RowTiling& tiling)
      : dag_(dag), what_(what), tiling_(tiling), schedule_(dag) {}
  Result<te::Schedule> run();

 private:
  Status inline_others();
  Status order_result();
  Status order_sums();
  int64_t rows_of_part() const;

  const te::Dag& dag_;
  const AnchorDag& what_;
  const RowTiling& tiling_;
  te::Schedule schedule_;
  std::string sums_, result_;  // stages
};

// Inlines padding where the image is read, and the stages after the sums where the sums are.
Status RowTiler::inline_others() {
  return inline_where(schedule_, dag_,
                      [&](size_t s) { return s != what_.anchor && s != what_.result; });
}

int64_t RowTiler::rows_of_part() const {
  const auto& axes = std::get<te::Compute>(dag_.stages[what_.anchor].kind).axes;
  BYOC_CHECK(axes.size() == 5 && tiling_.vectors > 0, "an image in blocks of rank ", axes.size());
  const int64_t h = extent_of(axes[2]);
  if (tiling_.row_parts > 0) return h / tiling_.row_parts;
  return h / usual_row_parts(extent_of(axes[0]) * (extent_of(axes[1]) / tiling_.vectors), h);
}

Status RowTiler::order_result() {
  BYOC_TRY_STATUS(schedule_.split(result_, "i1", tiling_.vectors * what_.joined));
  BYOC_TRY_STATUS(schedule_.split(result_, "i2", rows_of_part()));
  BYOC_TRY_STATUS(schedule_.split(result_, "i3", tiling_.cells));
  std::vector<std::string> outer = {"i1.o", "i2.o"};
  if (tiling_.has_parts_outside) std::swap(outer[0], outer[1]);
  BYOC_TRY_STATUS(
      schedule_.reorder(result_, {"i0", outer[0], outer[1], "i2.i", "i3.o", "i3.i", "i1.i", "i4"}));
  BYOC_TRY(const std::string parts, fuse_all(schedule_, result_, {"i0", outer[0], outer[1]}));
  BYOC_TRY_STATUS(schedule_.parallel(result_, parts));
  BYOC_TRY_STATUS(schedule_.unroll(result_, "i3.i"));
  BYOC_TRY_STATUS(schedule_.unroll(result_, "i1.i"));
  BYOC_TRY_STATUS(schedule_.vectorize(result_, "i4"));
  return schedule_.compute_at(sums_, result_, "i3.o");
}

Status RowTiler::order_sums() {
  std::vector<std::string> order = {"i0", "i2"}, cells = {"i3", "i1", tiling_.columns, "i4"};
  if (tiling_.taps != Taps::kInCells)
    std::rotate(cells.begin(), cells.begin() + 2, cells.end() - 1);
  order.insert(order.end(), tiling_.around.begin(), tiling_.around.end());
  order.insert(order.end(), cells.begin(), cells.end());
  BYOC_TRY_STATUS(schedule_.reorder(sums_, order));
  for (const char* loop : {"i3", "i1"}) BYOC_TRY_STATUS(schedule_.unroll(sums_, loop));
  if (tiling_.taps != Taps::kLoop) BYOC_TRY_STATUS(schedule_.unroll(sums_, tiling_.columns));
  return schedule_.vectorize(sums_, "i4");
}

Result<te::Schedule> RowTiler::run() {
  BYOC_CHECK(what_.anchor < dag_.stages.size() && what_.result < dag_.stages.size(), "stages ",
             what_.anchor, " and ", what_.result, " of ", dag_.stages.size());
  result_ = dag_.stages[what_.result].name;
  sums_ = dag_.stages[what_.anchor].name;
  BYOC_TRY_STATUS(schedule_.for_compute(sums_, dag_.stages[what_.anchor].compute));
  if (what_.result == what_.anchor) {
    BYOC_TRY_STATUS(schedule_.cache_write(result_));
    sums_ = result_ + ".cache";
  }
  BYOC_TRY_STATUS(inline_others());
  BYOC_TRY_STATUS(order_result());
  BYOC_TRY_STATUS(order_sums());
  return std::move(schedule_);
}

}  // namespace

std::optional<ConvExtents> conv_extents(const te::Stage& stage) {
  const bool is_conv = stage.op == "conv2d_nchwc" || stage.op == "conv2d_nchwc_integers";
  if (!is_conv || stage.outputs[0].dtype() != DType::kF32) return std::nullopt;
  const te::Compute& compute = std::get<te::Compute>(stage.kind);
  std::vector<int64_t> e;
  for (const te::Axis& axis : compute.axes) e.push_back(extent_of(axis));
  for (const te::Axis& axis : compute.reduce) e.push_back(extent_of(axis));
  if (e.size() != 9 || *std::min_element(e.begin(), e.end()) < 1) return std::nullopt;
  return ConvExtents{e[0], e[1], e[2], e[3], e[4], e[5], e[6], e[7], e[8]};
}

Result<te::Schedule> tile_rows(const te::Dag& dag, const AnchorDag& what, const RowTiling& tiling) {
  return RowTiler(dag, what, tiling).run();
}

int64_t usual_row_parts(int64_t others, int64_t h) {
  for (int64_t rows = h; rows > 1; --rows) {
    if (h % rows == 0 && others * (h / rows) >= kParallelism) return h / rows;
  }
  return h;
}

int64_t shared_row_parts(int64_t others, int64_t h, int64_t parts, int64_t threads) {
  BYOC_CHECK(threads > 0, "rows for ", threads, " threads");
  for (int64_t count = std::max(parts, threads); 2 * count <= h; ++count) {
    if (h % count == 0 && count % threads == 0) return count;
  }
  for (int64_t count = std::max<int64_t>(parts, 1); count < h; ++count) {
    const int64_t all = others * count, slowest = (all + threads - 1) / threads;
    if (h % count == 0 && slowest * threads * 10 <= all * kEvenTenths) return count;
  }
  return h;
}

int64_t even_tile(int64_t extent, int64_t most) {
  BYOC_CHECK(extent > 0 && most > 0, "tiles of at most ", most, " of ", extent);
  const int64_t tiles = (extent + most - 1) / most;
  return (extent + tiles - 1) / tiles;
}

}  // namespace byoc::llvm_plugin::topi
