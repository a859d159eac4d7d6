// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/topi/planner.h"

#include <algorithm>

#include "byoc/te/rewrite.h"
#include "byoc/te/simplify.h"
#include "plugins/llvm/tiling/access.h"

namespace byoc::llvm_plugin::topi {
namespace {

constexpr int64_t kLeastVectors = 1;      // of a row whose sum is worth partial sums
constexpr int64_t kLeastRows = 32;        // the lines of fewer stay in the first cache anyway
constexpr int64_t kLeastOfBlock = 4;      // a block is at least this part of the usual one
constexpr int64_t kVectors = 4;           // of an iteration of a long row
constexpr int64_t kVectorsOfLongRow = 8;  // at least
constexpr int64_t kLightWork = 2;         // operations per load and store

// Returns the largest block of vectors of at most `most` elements that divides `extent`, else
// `most`: the last block then has conditions, which take longer than several whole blocks.
int64_t even_block(int64_t extent, int64_t most, int64_t lanes) {
  for (int64_t parts = (extent + most - 1) / most; extent / parts >= most / kLeastOfBlock;) {
    if (extent % parts == 0 && extent / parts % lanes == 0) return extent / parts;
    ++parts;
  }
  return most;
}

// Returns true when an index is the last axis of a stage, divided: an image that is enlarged.
bool repeats_along(const te::Load& load, const te::Var& last) {
  return std::ranges::any_of(load.indices, [&](const te::Expr& index) {
    auto* binary = std::get_if<te::Binary>(&index->kind);
    if (binary == nullptr || binary->op != te::BinaryOp::kFloorDivide) return false;
    auto* ref = std::get_if<te::VarRef>(&binary->a->kind);
    return ref != nullptr && ref->var == last;
  });
}

}  // namespace

std::optional<std::vector<Planner::Read>> Planner::reads_of(const te::Compute& own) const {
  std::vector<Read> out;
  std::vector<const te::Compute*> met = {&own};
  for (size_t k = 0; k < met.size(); ++k) {
    for (const te::Load* load : loads_of(*met[k])) {
      const te::Stage& from = schedule_.dag().stages[te::stage_of(schedule_.dag(), load->tensor)];
      if (!is_inlined(from.name)) {
        out.push_back({load, &met[k]->axes});
        continue;
      }
      if (!is_elementwise(*load, met[k]->axes)) return std::nullopt;
      const te::Compute* inner = compute(from.name);
      if (std::find(met.begin(), met.end(), inner) == met.end()) met.push_back(inner);
    }
  }
  return out;
}

int64_t Planner::work_with_inlined(const te::Compute& own) const {
  std::vector<const te::Compute*> met = {&own};
  int64_t work = 0;
  for (size_t k = 0; k < met.size(); ++k) {
    work += work_of(*met[k]);
    for (const te::Load* load : loads_of(*met[k])) {
      const te::Stage& from = schedule_.dag().stages[te::stage_of(schedule_.dag(), load->tensor)];
      const te::Compute* inner = is_inlined(from.name) ? compute(from.name) : nullptr;
      if (inner && std::find(met.begin(), met.end(), inner) == met.end()) met.push_back(inner);
    }
  }
  return work;
}

size_t Planner::flat_from(const te::Compute& own) const {
  const size_t rank = own.axes.size();
  auto reads = reads_of(own);
  if (!reads) return rank - 1;
  size_t flat = 0;
  for (const Read& read : *reads) {
    int64_t step = 0, extent = 1;  // of the axes from k on
    size_t k = rank;
    while (k-- > flat) {
      const int64_t own_extent = extent_of(own.axes[k]);
      if (own_extent == 1) continue;
      auto moved = stride_of(*read.load, (*read.axes)[k].var);
      if (!moved || (extent > 1 && *moved != step * extent)) break;
      if (extent == 1) step = *moved;
      extent *= own_extent;
    }
    flat = std::max(flat, std::min(k + 1, rank - 1));
  }
  return flat;
}

// Joins short rows where that is possible. Rows that stay may contain the stages before them.
void Planner::plan_elementwise(const std::string& name) {
  const te::Compute& own = *compute(name);
  std::vector<std::string> loops = schedule_.loops(name);
  if (loops.empty() || plan_transposed(name) || plan_streams(name) || plan_repeated(name)) return;
  const size_t flat = flat_from(own);
  const int64_t lanes = lanes_of(name);
  // Vectors over ends of rows would read lanes that repeat from several places.
  const std::vector<const te::Load*> loads = loads_of(own);
  const bool is_repeated = std::ranges::any_of(
      loads, [&](const te::Load* load) { return repeats_along(*load, own.axes.back().var); });
  const bool has_odd_rows =
      !is_repeated && extent_of(own.axes.back()) % std::max<int64_t>(lanes, 1) != 0;
  while ((flat == 0 || has_odd_rows) && loops.size() > flat + 1 &&
         schedule_.fuse(name, loops[flat], loops[flat + 1]).ok())
    loops = schedule_.loops(name);
  const int64_t elements = elements_of(stage(name).outputs[0]);
  bool is_divided = false;  // blocks are no rows: each would contain the whole row before it
  if (loops.size() == 1 && target_.threads > 1 && elements >= 2 * rules_.block) {
    const int64_t block = even_block(elements, rules_.block, std::max<int64_t>(lanes, 1));
    is_divided = schedule_.split(name, loops[0], block).ok();
    if (is_divided) loops = schedule_.loops(name);
  }
  const bool may_host = rules_.has_rows && !is_divided;
  vectorize_inner(name, may_host && (host_rows(name) || host_planes(name)));
  if (loops.size() > 1) parallelize(name, {loops.begin(), loops.end() - 1}, rules_.grain);
}

// Returns true when loads and stores take longer than what is computed between them.
bool Planner::is_light(const std::string& name) const {
  const auto reads = reads_of(*compute(name));
  return reads &&
         work_with_inlined(*compute(name)) <= kLightWork * static_cast<int64_t>(reads->size() + 1);
}

// Vectorises the innermost loop, in iterations of several vectors where these have no dependences,
// such as the remaining work on a row in the first cache, or copies.
void Planner::vectorize_inner(const std::string& name, bool has_rows) {
  std::string inner = schedule_.loops(name).back();
  const int64_t lanes = lanes_of(name);
  const bool is_flat = schedule_.loops(name).size() == 1;
  const int64_t row =
      is_flat ? elements_of(stage(name).outputs[0]) : extent_of(compute(name)->axes.back());
  const bool is_worth = row >= kVectorsOfLongRow * lanes && (has_rows || is_light(name));
  const int64_t vectors = rules_.vectors > 0 ? rules_.vectors : is_worth ? kVectors : 0;
  const bool is_long = is_worth || (rules_.vectors > 0 && row >= 2 * vectors * lanes);
  if (vectors > 0 && is_long && schedule_.split(name, inner, vectors * lanes).ok()) inner += ".i";
  (void)schedule_.vectorize(name, inner).ok();
}

bool Planner::host_rows(const std::string& name) {
  const size_t rank = compute(name)->axes.size();
  if (rank < 2 || schedule_.loops(name).size() != rank) return false;
  return host(name, rank - 1, [rank](const te::Compute& own) { return own.axes.size() == rank; });
}

// Computes sums over planes, such as the moments of a channel, where the planes are read: a plane
// is then read from memory once.
//   mean[i0, i1] over r0, r1   is computed inside of   y[i0, i1, i2, i3], once per i1
bool Planner::host_planes(const std::string& name) {
  const te::Compute& own = *compute(name);
  const int64_t elements = elements_of(stage(name).outputs[0]);
  const auto size = static_cast<int64_t>(dtype_size(stage(name).outputs[0].dtype()));
  if (target_.threads == 1 && 2 * elements * size <= target_.l2_bytes) return false;
  int64_t planes = 1;
  bool hosts_any = false;
  for (size_t depth = 1; depth + 1 < own.axes.size(); ++depth) {
    planes *= extent_of(own.axes[depth - 1]);
    const int64_t plane = elements / std::max<int64_t>(planes, 1);
    const bool is_worth = planes > 1 && planes >= target_.threads &&
                          plane >= kLeastRows * lanes_of(name) && plane * size <= target_.l2_bytes;
    const auto is_of_planes = [depth](const te::Compute& sums) {
      int64_t rest = 1;
      for (size_t d = depth; d < sums.axes.size(); ++d) rest *= extent_of(sums.axes[d]);
      return sums.axes.size() >= depth && rest == 1;
    };
    if (is_worth && depth <= flat_from(own))
      hosts_any = host(name, depth, is_of_planes) || hosts_any;
  }
  return hosts_any;
}

// Computes stages inside loop `depth` of the one that reads them, where all extents and indices up
// to there are the same. Returns false when there are none.
bool Planner::host(const std::string& name, size_t depth,
                   const std::function<bool(const te::Compute&)>& may_host) {
  const std::vector<std::string> loops = schedule_.loops(name);
  bool hosts_any = false;
  std::vector<std::string> all = names();
  for (size_t k = all.size(); k-- > 0;) {
    const te::Stage& producer = stage(all[k]);
    auto* own = std::get_if<te::Compute>(&producer.kind);
    if (!own || all[k] == name || is_inlined(all[k]) || is_result(producer)) continue;
    if (!may_host(*own)) continue;
    bool fits = true;
    for (size_t d = 0; d < depth; ++d)
      fits = fits && extent_of(own->axes[d]) == extent_of(compute(name)->axes[d]);
    for (const te::Stage* reader : readers(producer)) {
      fits = fits && std::holds_alternative<te::Compute>(reader->kind) &&
             reads_rows_of(all[k], *reader, depth);
    }
    if (!fits || !schedule_.compute_at(all[k], name, loops[depth - 1]).ok()) continue;
    hosted_.push_back(all[k]);
    hosts_any = true;
  }
  return hosts_any;
}

void Planner::plan_stage(const std::string& name) {
  const te::Compute* own = compute(name);
  if (!own || is_inlined(name)) return;
  if (is_planned(name)) return;
  planned_.push_back(name);
  if (own->reduce.empty()) plan_elementwise(name);
  else plan_reduction(name);
}

te::Schedule Planner::plan() && {
  std::vector<std::string> all = names();
  state_computes();
  inline_stages(rules_.inlining);
  for (const std::string& name : all) {
    const te::Compute* own = compute(name);
    if (own && !own->reduce.empty()) (void)plan_tiles(name);
  }
  // Sum in lanes before rows are computed where they are read: partial results are refused then.
  for (const std::string& name : all) {
    const te::Compute* own = compute(name);
    if (own && !own->reduce.empty() && !is_planned(name))
      sum_in_lanes(name, rules_.partials, kLeastVectors);
  }
  for (size_t k = all.size(); k-- > 0;) plan_stage(all[k]);
  return std::move(schedule_);
}

}  // namespace byoc::llvm_plugin::topi
