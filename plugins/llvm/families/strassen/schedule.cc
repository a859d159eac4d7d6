// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/families/strassen/schedule.h"

#include <algorithm>

#include "plugins/llvm/tiling/access.h"
#include "plugins/llvm/tiling/staged_schedule.h"

namespace byoc::llvm_plugin::strassen {
namespace {

using te::Schedule;
using topi::compute_of;
using topi::extent_at;
using topi::has_shape_of;

constexpr int64_t kLongestBody = 256;  // multiply-adds that are written out
constexpr int64_t kCheap = 8;          // operations on a result that leave registers for others

using Loops = std::vector<std::string>;

// Returns true for the stages of a convolution, whose result is [image, block, row, column, channel
// of the block].
bool is_image(const te::Stage& stage) { return stage.op == "conv2d_nchwc"; }

bool is_own(const te::Stage& stage) {
  return compute_of(stage) != nullptr && stage.compute == kCompute &&
         (stage.op == "matmul_packed" || is_image(stage) || stage.role.starts_with("strassen."));
}

/// The stages of a Dag with this compute, as places in it.
struct Stages {
  std::optional<size_t> panels;  // none: an input
  size_t rows = 0, products = 0, quarters = 0;
  size_t result = 0;  // the product's own
  size_t host = 0;    // the stage whose loops have quarters and products in them
  size_t first() const { return panels.value_or(rows); }
};

// The result of the Dag is the host when it has the shape of the product; otherwise, as before the
// steps of a recurrent net, the product is stored, and what follows has loops of its own.
std::optional<Stages> stages_of(const te::Dag& dag) {
  std::vector<size_t> own;
  std::optional<size_t> procedure;  // the first one
  for (size_t s = 0; s < dag.stages.size(); ++s) {
    const te::Compute* compute = compute_of(dag.stages[s]);
    if (!procedure && std::holds_alternative<te::Procedure>(dag.stages[s].kind)) procedure = s;
    if (is_own(dag.stages[s])) own.push_back(s);
    else if (compute != nullptr && !compute->reduce.empty()) return std::nullopt;
  }
  if (own.size() < 4 || own.size() > 5) return std::nullopt;
  if (procedure ? *procedure < own.back() : dag.outputs.size() != 1) return std::nullopt;
  Stages out;
  if (own.size() == 5) out.panels = own[0];
  const auto last = own.end();
  out.rows = last[-4], out.products = last[-3], out.quarters = last[-2], out.result = last[-1];
  if (compute_of(dag.stages[out.products])->reduce.size() != 2) return std::nullopt;
  const size_t end = te::stage_of(dag, dag.outputs[0]);
  const bool is_host = !procedure && has_shape_of(dag.stages[end], dag.stages[out.result]);
  out.host = is_host ? end : out.result;
  return out;
}

Product shape_of(const te::Dag& dag, const Stages& stages) {
  const te::Stage &rows = dag.stages[stages.rows], &quarters = dag.stages[stages.quarters];
  const int64_t block = extent_at(quarters, 5);
  const int64_t terms = extent_at(rows, 2) * extent_at(rows, 4);
  Product out{2 * extent_at(rows, 3), 2 * terms, 2 * extent_at(quarters, 4) * block, block};
  out.bands = extent_at(rows, 0), out.term_block = extent_at(rows, 4);
  for (const te::Load* load : topi::loads_of(*compute_of(dag.stages[stages.products]))) {
    const te::Tensor& from = load->tensor;
    if (from.rank() == 5) out.panel = te::as_int(from.shape()[2]).value_or(1);
  }
  return out;
}

class Scheduler {
 public:
  Scheduler(const te::Dag& dag, const Stages& stages, int64_t tile_rows, const te::Target& target)
      : dag_(dag),
        stages_(stages),
        shape_(shape_of(dag, stages)),
        tile_rows_(tile_rows),
        lanes_(target.lanes(sizeof(float))),
        schedule_(dag) {}
  Result<Schedule> run();

 private:
  const std::string& name(size_t stage) const { return dag_.stages[stage].name; }
  Status inline_others();
  Status order_host();
  Status write_out(const Loops& loops);
  Status order_image();
  Status order_quarters();
  Status order_products();
  Status order_rows();
  Status vectorize_alone(size_t stage);

  const te::Dag& dag_;
  const Stages& stages_;
  const Product shape_;
  const int64_t tile_rows_, lanes_;
  Schedule schedule_;
  /// Loops of the host: bands, which have all stages in them, empty where there is one; panels; the
  /// innermost loop that has the quarters of a row in it.
  std::string bands_, panel_, row_;
};

Status Scheduler::inline_others() {
  return topi::inline_where(schedule_, dag_,
                            [&](size_t s) { return s > stages_.quarters && s < stages_.host; });
}

// Returns the axis of a result's rows when it is one, whose halves are loops.
std::optional<size_t> row_axis(const te::Stage& host) {
  std::optional<size_t> out;
  for (size_t d = 0; d + 1 < host.outputs[0].rank(); ++d) {
    if (extent_at(host, d) == 1) continue;
    if (out) return std::nullopt;
    out = d;
  }
  return out;
}

// Unrolls loops of the host over quarters, so that these are in registers until they are stored.
// Where much is computed of a result, as GELU, there are no registers for several: a loop over
// those in memory is faster.
Status Scheduler::write_out(const Loops& loops) {
  int64_t work = 0;
  for (size_t s = stages_.result; s <= stages_.host; ++s) {
    const te::Compute* compute = compute_of(dag_.stages[s]);
    if (compute != nullptr) work += topi::work_of(*compute);
  }
  if (work > kCheap) return {};
  for (const std::string& loop : loops) BYOC_TRY_STATUS(schedule_.unroll(name(stages_.host), loop));
  return {};
}

// Orders the host: panels; in a panel rows, blocks of columns, and for each the quarters.
Status Scheduler::order_host() {
  const te::Stage& stage = dag_.stages[stages_.host];
  const std::string& host = stage.name;
  const size_t rank = stage.outputs[0].rank();
  const std::string columns = cat("i", rank - 1), half = columns + ".i", block = half + ".o";
  BYOC_TRY_STATUS(schedule_.split(host, columns, shape_.n / 2));
  BYOC_TRY_STATUS(schedule_.split(host, half, shape_.block));
  BYOC_TRY_STATUS(schedule_.split(host, block, shape_.panel));
  panel_ = block + ".o", row_ = block + ".i";
  Loops order = {panel_}, last = {row_};
  const std::optional<size_t> rows = row_axis(stage);
  for (size_t d = 0; d + 1 < rank; ++d) {
    const std::string loop = cat("i", d);
    if (d != rows) {
      order.push_back(loop);
      continue;
    }
    BYOC_TRY_STATUS(schedule_.split(host, loop, shape_.rows()));
    order.push_back(loop + ".i"), last.push_back(loop + ".o");
  }
  order.insert(order.end(), last.begin(), last.end());
  order.insert(order.end(), {columns + ".o", half + ".i"});
  BYOC_TRY_STATUS(schedule_.reorder(host, order));
  BYOC_TRY_STATUS(write_out({columns + ".o"}));
  if (rows) BYOC_TRY_STATUS(write_out({cat("i", *rows, ".o")}));
  BYOC_TRY_STATUS(schedule_.vectorize(host, half + ".i"));
  return schedule_.parallel(host, panel_);
}

// Orders the host of a convolution: bands of pixels; in a band panels; in a panel blocks of columns
// and pixels, and for each the quarters, in the blocks of channels that a block has.
Status Scheduler::order_image() {
  const te::Stage& stage = dag_.stages[stages_.host];
  const std::string& host = stage.name;
  const int64_t joined = shape_.block / extent_at(stage, 4);
  BYOC_TRY_STATUS(schedule_.fuse(host, "i2", "i3"));
  BYOC_TRY_STATUS(schedule_.split(host, "i2.i3", shape_.m));
  BYOC_TRY_STATUS(schedule_.split(host, "i2.i3.i", shape_.rows()));
  BYOC_TRY_STATUS(schedule_.split(host, "i1", shape_.blocks() * joined));
  BYOC_TRY_STATUS(schedule_.split(host, "i1.i", joined));
  BYOC_TRY_STATUS(schedule_.split(host, "i1.i.o", shape_.panel));
  panel_ = "i1.i.o.o", row_ = "i2.i3.i.i";
  BYOC_TRY_STATUS(schedule_.reorder(
      host, {"i0", "i2.i3.o", panel_, "i1.i.o.i", row_, "i2.i3.i.o", "i1.o", "i1.i.i", "i4"}));
  BYOC_TRY_STATUS(write_out({"i2.i3.i.o", "i1.o", "i1.i.i"}));
  BYOC_TRY_STATUS(schedule_.vectorize(host, "i4"));
  if (shape_.bands == 1) return schedule_.parallel(host, panel_);
  BYOC_TRY_STATUS(schedule_.fuse(host, "i0", "i2.i3.o"));
  bands_ = "i0.i2.i3.o";
  return schedule_.parallel(host, bands_);
}

// Orders the sums of products: row by row, its four quarters written out.
Status Scheduler::order_quarters() {
  const std::string& stage = name(stages_.quarters);
  BYOC_TRY_STATUS(schedule_.reorder(stage, {"i0", "i4", "i2", "i1", "i3", "i5"}));
  for (const char* loop : {"i1", "i3"}) BYOC_TRY_STATUS(schedule_.unroll(stage, loop));
  BYOC_TRY_STATUS(schedule_.vectorize(stage, "i5"));
  return schedule_.compute_at(stage, name(stages_.host), row_);
}

// Orders the products: one after the other, in tiles of rows by a block of columns.
Status Scheduler::order_products() {
  const std::string &stage = name(stages_.products), sums = stage + ".cache";
  BYOC_TRY_STATUS(schedule_.cache_write(stage));
  BYOC_TRY_STATUS(schedule_.split(stage, "i3", tile_rows_));
  BYOC_TRY_STATUS(schedule_.reorder(stage, {"i0", "i1", "i2", "i3.o", "i3.i", "i4"}));
  BYOC_TRY_STATUS(schedule_.compute_at(sums, stage, "i3.o"));
  BYOC_TRY_STATUS(schedule_.unroll(stage, "i3.i"));
  BYOC_TRY_STATUS(schedule_.vectorize(stage, "i4"));
  BYOC_TRY_STATUS(schedule_.reorder(sums, {"i0", "i1", "i2", "r0", "r1", "i3", "i4"}));
  const int64_t registers = std::max<int64_t>(shape_.block / lanes_, 1);
  const bool is_short = shape_.adjacent() * tile_rows_ * registers <= kLongestBody;
  if (is_short && shape_.adjacent() < shape_.terms()) BYOC_TRY_STATUS(schedule_.unroll(sums, "r1"));
  BYOC_TRY_STATUS(schedule_.unroll(sums, "i3"));
  BYOC_TRY_STATUS(schedule_.vectorize(sums, "i4"));
  return schedule_.compute_at(stage, name(stages_.host), panel_);
}

// Orders the sums of rows: vectors, of which all seven are written out. Blocks of terms have the
// rows one after another, as the source has them.
Status Scheduler::order_rows() {
  const std::string& stage = name(stages_.rows);
  const bool is_blocked = shape_.adjacent() < shape_.terms();
  const std::string outer = is_blocked ? "i2" : "i3";
  Loops order = is_blocked ? Loops{"i2", "i3"} : Loops{"i3", "i2"};
  order.insert(bands_.empty() ? order.end() : order.begin(), "i0");
  std::string lanes = "i4";
  if (shape_.adjacent() > lanes_) {
    BYOC_TRY_STATUS(schedule_.split(stage, lanes, lanes_));
    order.push_back("i4.o"), lanes = "i4.i";
  }
  order.insert(order.end(), {"i1", lanes});
  BYOC_TRY_STATUS(schedule_.reorder(stage, order));
  BYOC_TRY_STATUS(schedule_.unroll(stage, "i1"));
  BYOC_TRY_STATUS(schedule_.vectorize(stage, lanes));
  if (bands_.empty()) return schedule_.parallel(stage, outer);
  return schedule_.compute_at(stage, name(stages_.host), bands_);
}

// Schedules a stage before or after the others: vectors of its last axis.
Status Scheduler::vectorize_alone(size_t s) {
  const te::Compute* compute = compute_of(dag_.stages[s]);
  if (compute == nullptr || compute->axes.empty()) return {};
  const std::string last = cat("i", compute->axes.size() - 1);
  const int64_t extent = topi::extent_of(compute->axes.back());
  if (extent < 1) return {};
  if (extent <= lanes_) return schedule_.vectorize(name(s), last);
  BYOC_TRY_STATUS(schedule_.split(name(s), last, lanes_));
  return schedule_.vectorize(name(s), last + ".i");
}

Status order_panels(Schedule& schedule, const std::string& stage) {
  BYOC_TRY_STATUS(schedule.reorder(stage, {"i0", "i2", "i3", "i1", "i4"}));
  BYOC_TRY_STATUS(schedule.unroll(stage, "i1"));
  BYOC_TRY_STATUS(schedule.vectorize(stage, "i4"));
  return schedule.parallel(stage, "i0");
}

Result<Schedule> Scheduler::run() {
  BYOC_TRY_STATUS(schedule_.for_compute(name(stages_.products), kCompute));
  BYOC_TRY_STATUS(inline_others());
  BYOC_TRY_STATUS(is_image(dag_.stages[stages_.result]) ? order_image() : order_host());
  BYOC_TRY_STATUS(order_quarters());
  BYOC_TRY_STATUS(order_products());
  BYOC_TRY_STATUS(order_rows());
  if (stages_.panels) BYOC_TRY_STATUS(order_panels(schedule_, name(*stages_.panels)));
  for (size_t s = 0; s < dag_.stages.size(); ++s) {
    if (s < stages_.first() || s > stages_.host) BYOC_TRY_STATUS(vectorize_alone(s));
  }
  return std::move(schedule_);
}

}  // namespace

std::optional<Product> find_product(const te::Dag& dag) {
  const std::optional<Stages> stages = stages_of(dag);
  return stages ? std::optional(shape_of(dag, *stages)) : std::nullopt;
}

Result<Schedule> schedule_products(const te::Dag& dag, int64_t tile_rows,
                                   const te::Target& target) {
  const std::optional<Stages> stages = stages_of(dag);
  if (!stages) return invalid("the function has no product by Strassen's sums");
  return Scheduler(dag, *stages, tile_rows, target).run();
}

bool has_panels_alone(const te::Dag& dag) {
  size_t others = 0;
  for (const te::Stage& stage : dag.stages)
    others += !std::holds_alternative<te::Placeholder>(stage.kind);
  const size_t result = te::stage_of(dag, dag.outputs[0]);
  return others == 1 && is_own(dag.stages[result]) && dag.stages[result].role == kPanels;
}

Result<Schedule> schedule_panels(const te::Dag& dag) {
  Schedule out(dag);
  BYOC_TRY_STATUS(order_panels(out, dag.stages[te::stage_of(dag, dag.outputs[0])].name));
  return out;
}

}  // namespace byoc::llvm_plugin::strassen
