// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/strassen/schedule.h"

#include <algorithm>

#include "plugins/llvm/tiling/access.h"

namespace byoc::llvm_plugin::strassen {
namespace {

using te::Schedule;

using Loops = std::vector<std::string>;

const te::Compute* compute_of(const te::Stage& stage) {
  return std::get_if<te::Compute>(&stage.kind);
}

bool is_own(const te::Stage& stage) {
  return compute_of(stage) != nullptr && stage.compute == kCompute;
}

int64_t extent_at(const te::Stage& stage, size_t dim) {
  return te::as_int(stage.outputs[0].shape()[dim]).value_or(0);
}

bool has_shape_of(const te::Stage& a, const te::Stage& b) {
  const te::Exprs &x = a.outputs[0].shape(), &y = b.outputs[0].shape();
  return std::ranges::equal(x, y, te::structural_equal);
}

/// The stages of a Dag with this compute, as places in it.
struct Stages {
  std::optional<size_t> panels;  // none: an input
  size_t rows = 0, products = 0, quarters = 0;
  size_t result = 0;  // the product's own
  size_t host = 0;    // the stage whose loops have quarters and products in them
  size_t first() const { return panels.value_or(rows); }
};

// The result of the Dag is the host when it has the shape of the product; otherwise the product is
// stored, and what follows has loops of its own.
std::optional<Stages> stages_of(const te::Dag& dag) {
  std::vector<size_t> own;
  for (size_t s = 0; s < dag.stages.size(); ++s) {
    const te::Compute* compute = compute_of(dag.stages[s]);
    if (std::holds_alternative<te::Procedure>(dag.stages[s].kind)) return std::nullopt;
    if (is_own(dag.stages[s])) own.push_back(s);
    else if (compute != nullptr && !compute->reduce.empty()) return std::nullopt;
  }
  if (own.size() < 4 || own.size() > 5 || dag.outputs.size() != 1) return std::nullopt;
  Stages out;
  if (own.size() == 5) out.panels = own[0];
  const auto last = own.end();
  out.rows = last[-4], out.products = last[-3], out.quarters = last[-2], out.result = last[-1];
  if (compute_of(dag.stages[out.products])->reduce.size() != 1) return std::nullopt;
  const size_t end = te::stage_of(dag, dag.outputs[0]);
  out.host = has_shape_of(dag.stages[end], dag.stages[out.result]) ? end : out.result;
  return out;
}

Product shape_of(const te::Dag& dag, const Stages& stages) {
  const te::Stage &rows = dag.stages[stages.rows], &quarters = dag.stages[stages.quarters];
  const int64_t block = extent_at(quarters, 4);
  Product out{2 * extent_at(rows, 1), 2 * extent_at(rows, 2), 2 * extent_at(quarters, 3) * block,
              block};
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
  Status order_quarters();
  Status order_products();
  Status order_rows();
  Status vectorize_alone(size_t stage);

  const te::Dag& dag_;
  const Stages& stages_;
  const Product shape_;
  const int64_t tile_rows_, lanes_;
  Schedule schedule_;
  std::string panel_, row_;  // the host's loops
};

Status Scheduler::inline_others() {
  for (size_t s = stages_.quarters + 1; s < stages_.host; ++s) {
    if (compute_of(dag_.stages[s]) == nullptr) continue;
    BYOC_TRY_STATUS(schedule_.compute_inline(name(s)));
  }
  return {};
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

// Orders the host: panels; in a panel blocks of columns, rows, and for each the quarters.
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
  BYOC_TRY_STATUS(schedule_.vectorize(host, half + ".i"));
  return schedule_.parallel(host, panel_);
}

// Orders the sums of products: row by row, its four quarters written out.
Status Scheduler::order_quarters() {
  const std::string& stage = name(stages_.quarters);
  BYOC_TRY_STATUS(schedule_.reorder(stage, {"i3", "i1", "i0", "i2", "i4"}));
  for (const char* loop : {"i0", "i2"}) BYOC_TRY_STATUS(schedule_.unroll(stage, loop));
  BYOC_TRY_STATUS(schedule_.vectorize(stage, "i4"));
  return schedule_.compute_at(stage, name(stages_.host), row_);
}

// Orders the products: one after the other, in tiles of rows by a block of columns.
Status Scheduler::order_products() {
  const std::string &stage = name(stages_.products), sums = stage + ".cache";
  BYOC_TRY_STATUS(schedule_.cache_write(stage));
  BYOC_TRY_STATUS(schedule_.split(stage, "i2", tile_rows_));
  BYOC_TRY_STATUS(schedule_.reorder(stage, {"i0", "i1", "i2.o", "i2.i", "i3"}));
  BYOC_TRY_STATUS(schedule_.compute_at(sums, stage, "i2.o"));
  BYOC_TRY_STATUS(schedule_.unroll(stage, "i2.i"));
  BYOC_TRY_STATUS(schedule_.vectorize(stage, "i3"));
  BYOC_TRY_STATUS(schedule_.reorder(sums, {"i0", "i1", "r0", "i2", "i3"}));
  BYOC_TRY_STATUS(schedule_.unroll(sums, "i2"));
  BYOC_TRY_STATUS(schedule_.vectorize(sums, "i3"));
  return schedule_.compute_at(stage, name(stages_.host), panel_);
}

// Orders the sums of rows: vectors, of which all seven are written out.
Status Scheduler::order_rows() {
  const std::string& stage = name(stages_.rows);
  BYOC_TRY_STATUS(schedule_.split(stage, "i2", lanes_));
  BYOC_TRY_STATUS(schedule_.reorder(stage, {"i1", "i2.o", "i0", "i2.i"}));
  BYOC_TRY_STATUS(schedule_.unroll(stage, "i0"));
  BYOC_TRY_STATUS(schedule_.vectorize(stage, "i2.i"));
  return schedule_.parallel(stage, "i1");
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
  BYOC_TRY_STATUS(order_host());
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
  return others == 1 && is_own(dag.stages[result]) && dag.stages[result].name.starts_with(kPanels);
}

Result<Schedule> schedule_panels(const te::Dag& dag) {
  Schedule out(dag);
  BYOC_TRY_STATUS(order_panels(out, dag.stages[te::stage_of(dag, dag.outputs[0])].name));
  return out;
}

}  // namespace byoc::llvm_plugin::strassen
