// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/families/winograd/schedule.h"

#include <algorithm>

#include "plugins/llvm/tiling/access.h"
#include "plugins/llvm/tiling/staged_schedule.h"

namespace byoc::llvm_plugin::winograd {
namespace {

using te::Schedule;
using topi::compute_of;
using topi::extent_at;
using topi::has_shape_of;

constexpr int64_t kLongestBody = 512;  // multiply-adds that are written out
constexpr int64_t kLanes = 16;         // of vectors of tiles

using Loops = std::vector<std::string>;

/// The stages of a Dag with one of Winograd's computes.
struct Stages {
  size_t first = 0;     // of Winograd's, in the Dag
  std::string filters;  // empty: an input
  size_t columns_at = 0;
  std::string padded, phases;  // of a plain image, empty for others
  std::string columns, inputs, products, rows, tiles;
  std::string conv;  // the convolution's own result
  size_t conv_at = 0;
  std::string host;  // the stage whose loops have the others in them
  size_t host_at = 0;
  int64_t terms = 1;  // of the inner loops over terms: a block, or the phases of a channel
  Shape shape;
  bool is_plain() const { return !phases.empty(); }
  // The loops of the products over tiles of a row and over a block of results.
  std::string cells() const { return shape.is_open ? "i5" : "i4"; }
  std::string lanes() const { return shape.is_open ? "i6" : "i5"; }
};

Shape shape_of(const te::Stage& products, const te::Stage& tiles, const te::Stage& conv) {
  const te::Compute& sum = *compute_of(products);
  Shape out;
  out.products = extent_at(products, 0) * extent_at(products, 1);
  out.n = extent_at(products, 2);
  out.is_open = products.outputs[0].rank() == 7;
  out.o_blocks = extent_at(products, 3), out.o_block = extent_at(products, out.is_open ? 6 : 5);
  for (const te::Axis& axis : sum.reduce) out.c *= topi::extent_of(axis);
  out.tiles_down = extent_at(tiles, 2), out.tile_rows = extent_at(tiles, 3);
  out.result_rows = extent_at(conv, 2);
  out.tiles_across = extent_at(tiles, 4), out.tile_columns = extent_at(tiles, 5);
  return out;
}

// The result is the host when it has the shape of the convolution; otherwise the convolution is
// stored, and what follows has loops of its own.
std::optional<Stages> stages_of(const te::Dag& dag) {
  Stages out;
  const te::Stage *products = nullptr, *tiles = nullptr;
  size_t next = 0;
  for (size_t s = 0; s < dag.stages.size(); ++s) {
    const te::Stage& stage = dag.stages[s];
    const te::Compute* compute = compute_of(stage);
    const bool is_own = stage.compute.starts_with("winograd_");
    if (std::holds_alternative<te::Procedure>(stage.kind)) return std::nullopt;
    if (compute != nullptr && !compute->reduce.empty() && !is_own) return std::nullopt;
    if (compute == nullptr || !is_own) continue;
    // Filters may be transformed before, and blocked images have no phases.
    const std::tuple<std::string*, std::string_view> names[] = {
        {&out.filters, kFilters}, {&out.padded, kPadded}, {&out.phases, kPhases},
        {&out.columns, ""},       {&out.inputs, ""},      {&out.products, ""},
        {&out.rows, ""},          {&out.tiles, ""},       {&out.conv, ""}};
    if (next == 0) out.first = s;
    while (next < std::size(names) &&
           !(std::get<1>(names[next]).empty() || stage.role == std::get<1>(names[next])))
      ++next;
    if (next == std::size(names)) return std::nullopt;  // two convolutions
    std::string* const name = std::get<0>(names[next++]);
    if (name == &out.columns) out.columns_at = s;
    if (name == &out.products) products = &stage;
    if (name == &out.tiles) tiles = &stage;
    if (name == &out.conv) out.conv_at = s;
    *name = stage.name;
  }
  if (out.conv.empty() || dag.outputs.size() != 1) return std::nullopt;
  const size_t result = te::stage_of(dag, dag.outputs[0]);
  out.host_at = has_shape_of(dag.stages[result], dag.stages[out.conv_at]) ? result : out.conv_at;
  out.host = dag.stages[out.host_at].name;
  out.shape = shape_of(*products, *tiles, dag.stages[out.conv_at]);
  out.terms = out.shape.c / topi::extent_of(compute_of(*products)->reduce[0]);
  return out;
}

Status order_filters(Schedule& schedule, const te::Stage& filters) {
  const std::string& stage = filters.name;
  const bool is_plain = filters.outputs[0].rank() == 7;  // with two phases in place of a block
  Loops loops = {"i2", "i3", "i4", "i0", "i1", "i5"}, written = {"i0", "i1"};
  if (is_plain)
    loops = {"i2", "i3", "i0", "i1", "i4", "i5", "i6"}, written = {"i0", "i1", "i4", "i5"};
  BYOC_TRY_STATUS(schedule.reorder(stage, loops));
  for (const std::string& loop : written) BYOC_TRY_STATUS(schedule.unroll(stage, loop));
  BYOC_TRY_STATUS(schedule.vectorize(stage, loops.back()));
  BYOC_TRY_STATUS(schedule.fuse(stage, "i2", "i3"));
  return schedule.parallel(stage, "i2.i3");
}

class Scheduler {
 public:
  Scheduler(const te::Dag& dag, const Stages& stages, const Plan& plan, const te::Target& target)
      : dag_(dag), stages_(stages), plan_(plan), target_(target), schedule_(dag) {}
  Result<Schedule> run();

 private:
  Status inline_others();
  Status order_host();
  Status order_products();
  Status order_inputs();
  Status order_plain_inputs();
  Status order_phases();
  Status order_results();
  Status unroll(const std::string& stage, const Loops& loops);
  Result<std::string> vectors_of(const std::string& stage, const std::string& loop, int64_t extent);
  /// Puts a stage where a batch is computed, or over all threads when there is one batch alone.
  Status place(const std::string& stage, const Loops& outer);
  Status vectorize_alone(size_t stage);

  const te::Dag& dag_;
  const Stages& stages_;
  const Plan& plan_;
  const te::Target& target_;
  Schedule schedule_;
  std::string batch_;  // the host's loop over batches, empty: one batch
};

Status Scheduler::unroll(const std::string& stage, const Loops& loops) {
  for (const std::string& loop : loops) BYOC_TRY_STATUS(schedule_.unroll(stage, loop));
  return {};
}

// Returns the loop to vectorize, of all iterations or split from the others.
Result<std::string> Scheduler::vectors_of(const std::string& stage, const std::string& loop,
                                          int64_t extent) {
  if (extent <= kLanes) return loop;
  BYOC_TRY_STATUS(schedule_.split(stage, loop, kLanes));
  return loop + ".i";
}

Status Scheduler::place(const std::string& stage, const Loops& outer) {
  if (!batch_.empty()) return schedule_.compute_at(stage, stages_.host, batch_);
  BYOC_TRY(std::string loop, topi::fuse_all(schedule_, stage, outer));
  return schedule_.parallel(stage, loop);
}

Status Scheduler::inline_others() {
  return topi::inline_where(schedule_, dag_, [&](size_t s) {
    const bool is_own = dag_.stages[s].compute.starts_with("winograd_") && s != stages_.conv_at;
    return s >= stages_.first && s < stages_.host_at && !is_own;
  });
}

// Orders the host: batches of rows, blocks of channels, rows.
Status Scheduler::order_host() {
  const Shape& shape = stages_.shape;
  const std::string& host = stages_.host;
  const bool is_split = plan_.rows < shape.tiles_down || shape.is_open;
  const bool is_per_image =
      shape.n > 1 && shape.n * shape.tiles_down * shape.row_bytes() > target_.l2_bytes;
  if (is_split) {
    BYOC_TRY_STATUS(schedule_.split(host, "i2", plan_.rows * shape.tile_rows));
    BYOC_TRY_STATUS(schedule_.reorder(host, {"i0", "i2.o", "i1", "i2.i", "i3", "i4"}));
    // The last rows are one batch, whatever their number, and not blocks of them.
    if (shape.is_open) BYOC_TRY_STATUS(schedule_.split(host, "i2.i", shape.tile_rows));
  }
  BYOC_TRY_STATUS(schedule_.vectorize(host, "i4"));
  if (is_split || is_per_image) {
    BYOC_TRY(batch_, topi::fuse_all(schedule_, host, is_split ? Loops{"i0", "i2.o"} : Loops{"i0"}));
    return schedule_.parallel(host, batch_);
  }
  return {};
}

// Orders the products: panels of filters, in which all tiles of a batch are multiplied.
Status Scheduler::order_products() {
  const std::string &stage = stages_.products, sums = stage + ".cache";
  BYOC_TRY_STATUS(schedule_.cache_write(stage));
  BYOC_TRY_STATUS(schedule_.split(stage, "i3", plan_.tile.vectors));
  const std::string cells = stages_.cells(), lanes = stages_.lanes();
  BYOC_TRY_STATUS(schedule_.split(stage, cells, plan_.tile.cells));
  Loops inner = {cells + ".i", "i3.i"}, tile = {cells, "i3"};
  if (plan_.tile.cells < plan_.tile.vectors) {
    std::swap(inner[0], inner[1]);
    std::swap(tile[0], tile[1]);
  }
  Loops order = {"i0", "i1", "i2", "i3.o"};
  if (batch_.empty()) order = {"i0", "i1", "i3.o", "i2"};
  if (stages_.shape.is_open) order.push_back("i4");
  order.insert(order.end(), {cells + ".o", inner[0], inner[1], lanes});
  BYOC_TRY_STATUS(schedule_.reorder(stage, order));
  BYOC_TRY_STATUS(schedule_.compute_at(sums, stage, cells + ".o"));
  BYOC_TRY_STATUS(unroll(stage, inner));
  BYOC_TRY_STATUS(schedule_.vectorize(stage, lanes));
  Loops terms = {"r0", "r1"}, written = {"r1"};
  if (stages_.is_plain()) terms.push_back("r2"), written.push_back("r2");
  Loops all = {"i0", "i1", "i2"};
  if (stages_.shape.is_open) all.push_back("i4");
  for (const Loops& loops : {terms, tile, Loops{lanes}})
    all.insert(all.end(), loops.begin(), loops.end());
  BYOC_TRY_STATUS(schedule_.reorder(sums, all));
  if (stages_.terms * plan_.tile.cells * plan_.tile.vectors <= kLongestBody)
    BYOC_TRY_STATUS(unroll(sums, written));
  BYOC_TRY_STATUS(unroll(sums, tile));
  BYOC_TRY_STATUS(schedule_.vectorize(sums, lanes));
  return place(stage, {"i0", "i1", "i3.o"});
}

// Orders the transform of the image: tile by tile, its columns in registers.
Status Scheduler::order_inputs() {
  const std::string &stage = stages_.inputs, &columns = stages_.columns;
  BYOC_TRY_STATUS(schedule_.reorder(stage, {"i2", "i3", "i4", "i5", "i0", "i1", "i6"}));
  BYOC_TRY_STATUS(schedule_.compute_at(columns, stage, "i5"));
  BYOC_TRY_STATUS(unroll(stage, {"i0", "i1"}));
  BYOC_TRY_STATUS(schedule_.vectorize(stage, "i6"));
  BYOC_TRY_STATUS(schedule_.reorder(columns, {"i5", "i4", "i6"}));
  BYOC_TRY_STATUS(unroll(columns, {"i5", "i4"}));
  BYOC_TRY_STATUS(schedule_.vectorize(columns, "i6"));
  return place(stage, {"i2", "i3"});
}

// Orders that of a plain image: vectors of tiles, which the phases have next to each other.
Status Scheduler::order_plain_inputs() {
  const std::string &stage = stages_.inputs, &columns = stages_.columns;
  BYOC_TRY(const std::string tiles, vectors_of(stage, "i7", stages_.shape.tiles_across));
  BYOC_TRY_STATUS(schedule_.reorder(stage, {"i2", "i3", "i4", "i0", "i5", "i1", "i6"}));
  if (tiles != "i7") BYOC_TRY_STATUS(schedule_.reorder(stage, {"i5", "i7.o", "i1", "i6", tiles}));
  BYOC_TRY_STATUS(schedule_.compute_at(columns, stage, "i4"));
  BYOC_TRY_STATUS(unroll(stage, {"i1", "i6"}));
  BYOC_TRY_STATUS(schedule_.vectorize(stage, tiles));
  const int64_t all = extent_at(dag_.stages[stages_.columns_at], 6);
  BYOC_TRY(const std::string lanes, vectors_of(columns, "i6", all));
  BYOC_TRY_STATUS(schedule_.reorder(columns, {"i5", "i3", "i4"}));
  if (lanes != "i6") BYOC_TRY_STATUS(schedule_.reorder(columns, {"i5", "i6.o", "i3", "i4", lanes}));
  BYOC_TRY_STATUS(unroll(columns, {"i3", "i4"}));
  BYOC_TRY_STATUS(schedule_.vectorize(columns, lanes));
  return place(stage, {"i2", "i3"});
}

// Orders the phases of a plain image: row by row, for all batches. One element after another is
// read and stored, which is faster than to gather them.
Status Scheduler::order_phases() {
  const std::string &stage = stages_.phases, &padded = stages_.padded;
  BYOC_TRY_STATUS(schedule_.reorder(stage, {"i4", "i3"}));
  BYOC_TRY_STATUS(schedule_.unroll(stage, "i3"));
  BYOC_TRY(const std::string rows, topi::fuse_all(schedule_, stage, {"i0", "i1", "i2"}));
  BYOC_TRY_STATUS(schedule_.compute_at(padded, stage, rows));
  BYOC_TRY_STATUS(schedule_.split(padded, "i3", kLanes));
  BYOC_TRY_STATUS(schedule_.vectorize(padded, "i3.i"));
  return schedule_.parallel(stage, rows);
}

// Orders the transform of the products: a block of channels of a batch, tile by tile.
Status Scheduler::order_results() {
  const std::string &tiles = stages_.tiles, &rows = stages_.rows;
  BYOC_TRY_STATUS(schedule_.compute_at(rows, tiles, "i4"));
  BYOC_TRY_STATUS(schedule_.reorder(tiles, {"i2", "i4", "i3", "i5", "i6"}));
  BYOC_TRY_STATUS(unroll(tiles, {"i3", "i5"}));
  BYOC_TRY_STATUS(schedule_.vectorize(tiles, "i6"));
  BYOC_TRY_STATUS(schedule_.reorder(rows, {"i5", "i4", "i6"}));
  BYOC_TRY_STATUS(unroll(rows, {"i5", "i4"}));
  BYOC_TRY_STATUS(schedule_.vectorize(rows, "i6"));
  if (!batch_.empty()) return schedule_.compute_at(tiles, stages_.host, "i1");
  BYOC_TRY(std::string loop, topi::fuse_all(schedule_, stages_.host, {"i0", "i1"}));
  BYOC_TRY_STATUS(schedule_.parallel(stages_.host, loop));
  return schedule_.compute_at(tiles, stages_.host, loop);
}

// Schedules a stage before or after the others: vectors of its last axis.
Status Scheduler::vectorize_alone(size_t s) {
  const te::Compute* compute = compute_of(dag_.stages[s]);
  if (compute == nullptr || compute->axes.empty()) return {};
  const std::string last = cat("i", compute->axes.size() - 1);
  const int64_t extent = topi::extent_of(compute->axes.back());
  if (extent < 1) return {};
  const std::string& stage = dag_.stages[s].name;
  if (compute->axes.size() > 2) {
    BYOC_TRY(std::string loop, topi::fuse_all(schedule_, stage, {"i0", "i1"}));
    BYOC_TRY_STATUS(schedule_.parallel(stage, loop));
  }
  if (extent <= 16) return schedule_.vectorize(stage, last);
  BYOC_TRY_STATUS(schedule_.split(stage, last, 8));
  return schedule_.vectorize(stage, last + ".i");
}

Result<Schedule> Scheduler::run() {
  BYOC_TRY_STATUS(schedule_.for_compute(stages_.products, dag_.stages[stages_.first].compute));
  BYOC_TRY_STATUS(inline_others());
  BYOC_TRY_STATUS(order_host());
  BYOC_TRY_STATUS(order_results());
  BYOC_TRY_STATUS(order_products());
  if (stages_.is_plain()) {
    BYOC_TRY_STATUS(order_plain_inputs());
    BYOC_TRY_STATUS(order_phases());
  } else {
    BYOC_TRY_STATUS(order_inputs());
  }
  if (!stages_.filters.empty())
    BYOC_TRY_STATUS(order_filters(schedule_, dag_.stages[stages_.first]));
  for (size_t s = 0; s < stages_.first; ++s) BYOC_TRY_STATUS(vectorize_alone(s));
  for (size_t s = stages_.host_at + 1; s < dag_.stages.size(); ++s)
    BYOC_TRY_STATUS(vectorize_alone(s));
  return std::move(schedule_);
}

}  // namespace

std::optional<Shape> find_shape(const te::Dag& dag) {
  const std::optional<Stages> stages = stages_of(dag);
  return stages ? std::optional(stages->shape) : std::nullopt;
}

Result<Schedule> schedule_batches(const te::Dag& dag, const Plan& plan, const te::Target& target) {
  const std::optional<Stages> stages = stages_of(dag);
  if (!stages) return invalid("the function has no compute of Winograd's");
  return Scheduler(dag, *stages, plan, target).run();
}

bool has_filters_alone(const te::Dag& dag) {
  size_t filters = 0, others = 0;
  for (const te::Stage& stage : dag.stages) {
    if (std::holds_alternative<te::Placeholder>(stage.kind)) continue;
    const bool is_own = stage.compute.starts_with("winograd_") && stage.role == kFilters;
    ++(is_own ? filters : others);
  }
  return filters == 1 && others == 0;
}

Result<Schedule> schedule_filters(const te::Dag& dag) {
  Schedule out(dag);
  BYOC_TRY_STATUS(order_filters(out, dag.stages[te::stage_of(dag, dag.outputs[0])]));
  return out;
}

}  // namespace byoc::llvm_plugin::winograd
