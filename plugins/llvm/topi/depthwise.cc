// A tile of cells side by side in one row: their sums stay in registers while the rows of the
// window pass, of which each element of the image is loaded once and meets every cell that it
// reaches. The image is read where it lies: conditions guard its edges, and the loops around a tile
// come in parts, of which the midst has none.
#include "plugins/llvm/topi/depthwise.h"

#include <algorithm>

#include "plugins/llvm/topi/access.h"
#include "plugins/llvm/topi/tile.h"

namespace byoc::llvm_plugin::topi {
namespace {

constexpr int64_t kMostColumns = 7;   // of a window: they are written out
constexpr int64_t kParallelism = 16;  // parts that threads share, at least

struct Extents {
  int64_t n, blocks, h, w, lanes, kh, kw;
};

std::optional<Extents> depthwise_extents(const te::Stage& anchor) {
  if (anchor.op != "conv2d_nchwc" || anchor.outputs[0].dtype() != DType::kF32) return std::nullopt;
  const te::Compute& compute = std::get<te::Compute>(anchor.kind);
  std::vector<int64_t> e;
  for (const te::Axis& axis : compute.axes) e.push_back(extent_of(axis));
  for (const te::Axis& axis : compute.reduce) e.push_back(extent_of(axis));
  if (e.size() != 9 || *std::min_element(e.begin(), e.end()) < 1) return std::nullopt;
  if (e[5] * e[8] != 1 || e[7] > kMostColumns) return std::nullopt;
  return Extents{e[0], e[1], e[2], e[3], e[4], e[6], e[7]};
}

// Eight sums of a row hide the latency of a multiply-add, and leave registers for the weights of a
// row of taps; rather fewer than a short tile at the end.
int64_t cells_of_tile(int64_t row) {
  const int64_t tiles = (row + 7) / 8;
  return (row + tiles - 1) / tiles;
}

// The greatest divisor of `extent` that gives enough parts.
int64_t rows_of_part(const Extents& e) {
  for (int64_t rows = e.h; rows > 1; --rows) {
    if (e.h % rows == 0 && e.n * e.blocks * (e.h / rows) >= kParallelism) return rows;
  }
  return 1;
}

class Depthwise {
 public:
  Depthwise(const te::Dag& dag, const AnchorDag& what, const Extents& extents)
      : dag_(dag), what_(what), e_(extents), schedule_(dag) {}
  Result<te::Schedule> run();

 private:
  Status inline_others();
  Status order_result();
  Status order_sums();

  const te::Dag& dag_;
  const AnchorDag& what_;
  const Extents e_;
  te::Schedule schedule_;
  std::string sums_, result_;  // stages
};

// Padding stands where the image is read, and what follows where the sums are.
Status Depthwise::inline_others() {
  for (size_t s = 0; s < dag_.stages.size(); ++s) {
    auto* compute = std::get_if<te::Compute>(&dag_.stages[s].kind);
    if (compute == nullptr || s == what_.anchor || s == what_.result) continue;
    BYOC_TRY_STATUS(schedule_.compute_inline(dag_.stages[s].name));
  }
  return {};
}

Status Depthwise::order_result() {
  const int64_t rows = rows_of_part(e_);
  std::string parts = "i0.i1";
  BYOC_TRY_STATUS(schedule_.split(result_, "i3", cells_of_tile(e_.w)));
  BYOC_TRY_STATUS(schedule_.fuse(result_, "i0", "i1"));
  if (rows < e_.h) {
    BYOC_TRY_STATUS(schedule_.split(result_, "i2", rows));
    BYOC_TRY_STATUS(schedule_.fuse(result_, parts, "i2.o"));
    parts += ".i2.o";
  }
  BYOC_TRY_STATUS(schedule_.parallel(result_, parts));
  BYOC_TRY_STATUS(schedule_.unroll(result_, "i3.i"));
  BYOC_TRY_STATUS(schedule_.vectorize(result_, "i4"));
  return schedule_.compute_at(sums_, result_, "i3.o");
}

Status Depthwise::order_sums() {
  BYOC_TRY_STATUS(schedule_.reorder(sums_, {"i0", "i1", "i2", "r0", "r3", "r1", "i3", "r2", "i4"}));
  for (const char* loop : {"i3", "r2"}) BYOC_TRY_STATUS(schedule_.unroll(sums_, loop));
  return schedule_.vectorize(sums_, "i4");
}

Result<te::Schedule> Depthwise::run() {
  result_ = dag_.stages[what_.result].name;
  sums_ = dag_.stages[what_.anchor].name;
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

te::ScheduleProvider depthwise_schedules(const te::Target&) {
  return [](const te::Dag& dag) -> std::optional<Result<te::Schedule>> {
    std::optional<AnchorDag> what = find_anchor_stage(dag);
    if (!what) return std::nullopt;
    std::optional<Extents> extents = depthwise_extents(dag.stages[what->anchor]);
    if (!extents) return std::nullopt;
    return Depthwise(dag, *what, *extents).run();
  };
}

}  // namespace byoc::llvm_plugin::topi
