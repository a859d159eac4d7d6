// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/families/attention/schedule.h"

#include <algorithm>

#include "plugins/llvm/families/attention/compute.h"
#include "plugins/llvm/tiling/access.h"
#include "plugins/llvm/tiling/staged_schedule.h"

namespace byoc::llvm_plugin::attention {
namespace {

using te::Schedule;
using topi::compute_of;
using topi::extent_at;
using topi::has_shape_of;
using Loops = std::vector<std::string>;

constexpr int64_t kCheap = 8;           // operations that are done again where they are read
constexpr int64_t kPartsPerThread = 4;  // so that few threads wait for the last part
constexpr int64_t kPartials = 4;        // vectors of partial sums
constexpr int64_t kLeastVectors = 2;    // of a row whose sum is worth partial sums
constexpr int64_t kMostVectors = 8;  // of a tile: plugins/llvm/emit writes out no loops over more
constexpr double kSlack = 1.1;       // of the cycles of tiles to choose from

/// The stages of a Dag with attention's compute, as places in it. Panels and queries that are
/// constants are inputs, and have no stage.
struct Stages {
  std::optional<size_t> queries, keys, values;
  size_t scores = 0, results = 0;
  size_t product = 0;           // of the values, whose loops have the others in them ..
  size_t host = 0;              // .. or the result of the Dag, when it has that shape
  std::vector<size_t> between;  // from the scores to the weights of the values
};

bool has_rows_of(const te::Stage& a, const te::Stage& b) {
  const te::Exprs &x = a.outputs[0].shape(), &y = b.outputs[0].shape();
  return x.size() == y.size() &&
         std::equal(x.begin(), x.end() - 1, y.begin(), y.end() - 1, te::structural_equal);
}

// Returns true when the stage reads one of these.
bool reads_any(const te::Dag& dag, const te::Compute& compute, const std::vector<bool>& of) {
  return std::ranges::any_of(topi::loads_of(compute), [&](const te::Load* load) {
    return of[te::stage_of(dag, load->tensor)];
  });
}

// Returns the stages that are computed from the scores, up to the results.
std::vector<size_t> stages_between(const te::Dag& dag, size_t scores, size_t results) {
  std::vector<bool> follows(dag.stages.size(), false);
  follows[scores] = true;
  std::vector<size_t> out;
  for (size_t s = scores + 1; s < results; ++s) {
    const te::Compute* compute = compute_of(dag.stages[s]);
    if (compute == nullptr || !reads_any(dag, *compute, follows)) continue;
    follows[s] = true;
    out.push_back(s);
  }
  return out;
}

// Returns true when sums between the products are those of rows, no other stage has sums, and the
// rows of the scores are those of the result.
bool is_attention(const te::Dag& dag, const Stages& stages) {
  const te::Stage& product = dag.stages[stages.product];
  if (stages.between.empty() || !has_rows_of(dag.stages[stages.scores], product)) return false;
  for (const te::Expr& extent : product.outputs[0].shape()) {
    if (te::as_int(extent).value_or(0) < 1) return false;
  }
  for (size_t s = 0; s < dag.stages.size(); ++s) {
    const te::Stage& stage = dag.stages[s];
    const te::Compute* compute = compute_of(stage);
    const bool is_between = std::ranges::find(stages.between, s) != stages.between.end();
    if (is_between && !has_rows_of(stage, product)) return false;
    if (compute == nullptr || compute->reduce.empty() || s == stages.scores || s == stages.results)
      continue;
    const bool is_of_rows = is_between && topi::extent_of(compute->axes.back()) == 1;
    if (!is_of_rows || compute->reduce.size() != 1) return false;
  }
  return true;
}

std::optional<Stages> stages_of(const te::Dag& dag) {
  Stages out;
  std::vector<size_t> products;
  bool has_scores = false, has_results = false;
  for (size_t s = 0; s < dag.stages.size(); ++s) {
    const te::Stage& stage = dag.stages[s];
    auto* procedure = std::get_if<te::Procedure>(&stage.kind);
    if (procedure != nullptr && !topi::reads_inputs_alone(dag, *procedure)) return std::nullopt;
    if (compute_of(stage) == nullptr || stage.compute != kCompute) continue;
    if (stage.role == kQueries) out.queries = s;
    else if (stage.role == kKeys) out.keys = s;
    else if (stage.role == kValues) out.values = s;
    else if (stage.role == kScores && !has_scores) out.scores = s, has_scores = true;
    else if (stage.role == kResults && !has_results) out.results = s, has_results = true;
    else if (stage.op == "matmul") products.push_back(s);
    else return std::nullopt;
  }
  if (!has_scores || !has_results || products.size() != 2 || dag.outputs.size() != 1)
    return std::nullopt;
  out.product = products[1];
  if (out.scores > products[0] || products[0] > out.results || out.results > out.product)
    return std::nullopt;
  out.between = stages_between(dag, out.scores, out.results);
  const size_t result = te::stage_of(dag, dag.outputs[0]);
  out.host = has_shape_of(dag.stages[result], dag.stages[out.product]) ? result : out.product;
  return is_attention(dag, out) ? std::optional(std::move(out)) : std::nullopt;
}

Shape shape_of(const te::Dag& dag, const Stages& stages) {
  const te::Stage &scores = dag.stages[stages.scores], &product = dag.stages[stages.product];
  const size_t rank = product.outputs[0].rank();
  Shape out;
  for (size_t d = 0; d + 2 < rank; ++d) out.heads *= extent_at(product, d);
  out.rows = extent_at(product, rank - 2), out.columns = extent_at(product, rank - 1);
  out.terms = topi::extent_of(compute_of(scores)->reduce[0]);
  out.keys = topi::extent_of(compute_of(dag.stages[stages.results])->reduce[0]);
  return out;
}

class Scheduler : topi::StagedSchedule {
 public:
  Scheduler(const te::Dag& dag, const Stages& stages, const Plan& plan, const te::Target& target)
      : StagedSchedule(dag, target),
        dag_(dag),
        stages_(stages),
        shape_(shape_of(dag, stages)),
        plan_(plan),
        rank_(dag.stages[stages.product].outputs[0].rank()),
        host_(dag.stages[stages.host].name) {}
  Result<Schedule> run();

 private:
  const std::string& name(size_t stage) const { return dag_.stages[stage].name; }
  std::string rows() const { return cat("i", rank_ - 2); }
  std::string columns() const { return cat("i", rank_ - 1); }
  int64_t lanes() const { return target_.lanes(sizeof(float)); }
  void find_stored();
  Status inline_others();
  Status order_host();
  Status order_results();
  Status order_scores();
  Status order_sums(const std::string& sums);
  Status order_between(size_t stage);
  Status order_queries();
  Status order_panels(size_t stage, bool has_rows_of_columns);

  const te::Dag& dag_;
  const Stages& stages_;
  const Shape shape_;
  const Plan& plan_;
  const size_t rank_;
  const std::string& host_;
  /// The host's loops over heads, empty where panels are made before all of them, and over blocks.
  std::string heads_, block_;
  std::vector<bool> is_stored_;  // per stage of the Dag: it is not inlined
};

// Finds the stages that keep their values. Those between the products are sums, numbers of a row,
// elements that take long to compute, with all that is inlined there, and what the second product
// reads of them.
void Scheduler::find_stored() {
  is_stored_.assign(dag_.stages.size(), false);
  std::vector<int64_t> work(dag_.stages.size(), 0);  // of an element, unless it is stored
  for (size_t s = 0; s < dag_.stages.size(); ++s) {
    const te::Compute* own = compute_of(dag_.stages[s]);
    if (own == nullptr) continue;
    work[s] = topi::work_of(*own);
    for (const te::Load* load : topi::loads_of(*own)) {
      const size_t from = te::stage_of(dag_, load->tensor);
      work[s] += is_stored_[from] ? 0 : std::min(work[from], kCheap + 1);
    }
    const bool is_between = std::ranges::find(stages_.between, s) != stages_.between.end();
    const bool is_kept = !own->reduce.empty() || topi::extent_of(own->axes.back()) == 1 ||
                         work[s] > kCheap || s == stages_.between.back();
    const bool is_own = s == stages_.queries || s == stages_.keys || s == stages_.values;
    is_stored_[s] = is_own || s == stages_.scores || s == stages_.results || s == stages_.host ||
                    (is_between && is_kept);
  }
}

Status Scheduler::inline_others() {
  const size_t result = te::stage_of(dag_, dag_.outputs[0]);
  return topi::inline_where(schedule_, dag_,
                            [&](size_t s) { return !is_stored_[s] && s != result; });
}

// Orders the host: heads, blocks of rows; in a block vectors of columns, in tiles of rows.
Status Scheduler::order_host() {
  const std::string block = rows() + ".o", row = rows() + ".i";
  BYOC_TRY_STATUS(schedule_.split(host_, rows(), plan_.rows));
  BYOC_TRY_STATUS(schedule_.split(host_, row, plan_.results.cells));
  BYOC_TRY_STATUS(schedule_.split(host_, columns(), plan_.results.vectors * lanes()));
  Loops heads, order;
  for (size_t d = 0; d + 2 < rank_; ++d) heads.push_back(cat("i", d));
  order = heads;
  const Loops inner = {row + ".i", columns() + ".i"};
  order.insert(order.end(), {block, columns() + ".o", row + ".o", inner[0], inner[1]});
  BYOC_TRY_STATUS(schedule_.reorder(host_, order));
  BYOC_TRY_STATUS(schedule_.unroll(host_, inner[0]));
  BYOC_TRY_STATUS(schedule_.vectorize(host_, inner[1]));
  block_ = block;
  const bool has_heads_for_all =
      target_.threads <= 1 || shape_.heads >= kPartsPerThread * target_.threads;
  if (has_heads_for_all && !heads.empty()) {
    BYOC_TRY(heads_, topi::fuse_all(schedule_, host_, heads));
    return schedule_.parallel(host_, heads_);
  }
  heads.push_back(block);
  BYOC_TRY(block_, topi::fuse_all(schedule_, host_, heads));
  return schedule_.parallel(host_, block_);
}

// Orders sums of a tile: terms outside, rows written out, vectors of columns.
Status Scheduler::order_sums(const std::string& sums) {
  BYOC_TRY_STATUS(schedule_.reorder(sums, {"r0", rows(), columns()}));
  BYOC_TRY_STATUS(schedule_.unroll(sums, rows()));
  return schedule_.vectorize(sums, columns());
}

Status Scheduler::order_results() {
  const std::string& sums = name(stages_.results);
  BYOC_TRY_STATUS(schedule_.compute_at(sums, host_, rows() + ".i.o"));
  return order_sums(sums);
}

// Orders the scores of a block: panels of keys, in tiles of rows.
Status Scheduler::order_scores() {
  const std::string &stage = name(stages_.scores), sums = stage + ".cache";
  BYOC_TRY_STATUS(schedule_.cache_write(stage));
  BYOC_TRY_STATUS(schedule_.split(stage, rows(), plan_.scores.cells));
  BYOC_TRY_STATUS(schedule_.split(stage, columns(), plan_.scores.vectors * lanes()));
  const Loops inner = {rows() + ".i", columns() + ".i"};
  BYOC_TRY_STATUS(schedule_.reorder(stage, {columns() + ".o", rows() + ".o", inner[0], inner[1]}));
  BYOC_TRY_STATUS(schedule_.compute_at(sums, stage, rows() + ".o"));
  BYOC_TRY_STATUS(schedule_.unroll(stage, inner[0]));
  BYOC_TRY_STATUS(schedule_.vectorize(stage, inner[1]));
  BYOC_TRY_STATUS(order_sums(sums));
  return schedule_.compute_at(stage, host_, block_);
}

Status Scheduler::order_between(size_t s) {
  const te::Compute& own = *compute_of(dag_.stages[s]);
  if (own.reduce.empty() && topi::extent_of(own.axes.back()) > 1)
    BYOC_TRY_STATUS(schedule_.vectorize(name(s), columns()));
  return schedule_.compute_at(name(s), host_, block_);
}

Status Scheduler::order_queries() {
  const std::string& stage = name(*stages_.queries);
  const std::string last = cat("i", dag_.stages[*stages_.queries].outputs[0].rank() - 1);
  BYOC_TRY_STATUS(schedule_.vectorize(stage, last));
  return schedule_.compute_at(stage, host_, block_);
}

// Orders panels: of a head, or of all before the heads, as those that heads share. Rows of values
// are read along memory.
Status Scheduler::order_panels(size_t s, bool has_rows_of_columns) {
  const size_t rank = dag_.stages[s].outputs[0].rank();
  const std::string panel = cat("i", rank - 3), row = cat("i", rank - 2);
  if (has_rows_of_columns) BYOC_TRY_STATUS(schedule_.reorder(name(s), {row, panel}));
  BYOC_TRY_STATUS(schedule_.vectorize(name(s), cat("i", rank - 1)));
  int64_t heads = 1;
  for (size_t d = 0; d + 3 < rank; ++d) heads *= extent_at(dag_.stages[s], d);
  if (!heads_.empty() && heads == shape_.heads) return schedule_.compute_at(name(s), host_, heads_);
  Loops outer;
  for (size_t d = 0; d + 3 < rank; ++d) outer.push_back(cat("i", d));
  outer.push_back(has_rows_of_columns ? row : panel);
  BYOC_TRY(const std::string loop, topi::fuse_all(schedule_, name(s), outer));
  return schedule_.parallel(name(s), loop);
}

Result<Schedule> Scheduler::run() {
  BYOC_TRY_STATUS(schedule_.for_compute(name(stages_.scores), kCompute));
  find_stored();
  BYOC_TRY_STATUS(inline_others());
  for (size_t s : stages_.between) {  // before rows are computed where they are read
    if (!compute_of(dag_.stages[s])->reduce.empty())
      sum_in_lanes(name(s), kPartials, kLeastVectors);
  }
  BYOC_TRY_STATUS(order_host());
  BYOC_TRY_STATUS(order_results());
  for (size_t k = stages_.between.size(); k-- > 0;) {  // readers first
    if (is_stored_[stages_.between[k]]) BYOC_TRY_STATUS(order_between(stages_.between[k]));
  }
  BYOC_TRY_STATUS(order_scores());
  if (stages_.queries) BYOC_TRY_STATUS(order_queries());
  if (stages_.keys) BYOC_TRY_STATUS(order_panels(*stages_.keys, false));
  if (stages_.values) BYOC_TRY_STATUS(order_panels(*stages_.values, true));
  const size_t result = te::stage_of(dag_, dag_.outputs[0]);
  if (result != stages_.host)
    BYOC_TRY_STATUS(topi::order_moved(schedule_, dag_.stages[result], lanes()));
  return std::move(schedule_);
}

}  // namespace

std::optional<Shape> find_shape(const te::Dag& dag) {
  const std::optional<Stages> stages = stages_of(dag);
  return stages ? std::optional(shape_of(dag, *stages)) : std::nullopt;
}

namespace {

double sums_per_load(const topi::RegisterTile& tile) {
  return static_cast<double>(tile.cells * tile.vectors) /
         static_cast<double>(tile.cells + tile.vectors);
}

}  // namespace

std::vector<topi::RegisterTile> tiles_of(int64_t rows, int64_t columns, const te::Target& target) {
  const int64_t lanes = target.lanes(sizeof(float)), vectors = (columns + lanes - 1) / lanes;
  std::vector<std::pair<double, topi::RegisterTile>> all;
  for (int64_t v = 1; v <= std::min(vectors, kMostVectors); ++v) {
    for (int64_t c = 1; c <= rows && c * v + v + 1 <= target.vector_registers; ++c)
      all.emplace_back(topi::cycles_of_tiles(rows, vectors, {c, v}), topi::RegisterTile{c, v});
  }
  if (all.empty()) return {topi::RegisterTile()};
  std::ranges::stable_sort(all, [](const auto& a, const auto& b) {
    if (a.first != b.first) return a.first < b.first;
    return sums_per_load(a.second) > sums_per_load(b.second);
  });
  std::vector<topi::RegisterTile> out;
  for (const auto& [cycles, tile] : all) {
    if (cycles <= kSlack * all[0].first) out.push_back(tile);
  }
  return out;
}

Plan best_plan(const Shape& shape, const te::Target& target) {
  constexpr int64_t kRows = 12;
  Plan out;
  out.rows = std::min<int64_t>(kRows, shape.rows);
  out.scores = tiles_of(out.rows, shape.keys, target)[0];
  out.results = tiles_of(out.rows, shape.columns, target)[0];
  return out;
}

Result<Schedule> schedule_blocks(const te::Dag& dag, const Plan& plan, const te::Target& target) {
  const std::optional<Stages> stages = stages_of(dag);
  if (!stages) return invalid("the function has no attention");
  return Scheduler(dag, *stages, plan, target).run();
}

}  // namespace byoc::llvm_plugin::attention
