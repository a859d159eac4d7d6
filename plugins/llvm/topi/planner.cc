// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/topi/planner.h"

#include <algorithm>

#include "plugins/llvm/analysis/walk.h"
#include "plugins/llvm/tiling/access.h"

namespace byoc::llvm_plugin::topi {
namespace {

constexpr int64_t kCheap = 4;        // operations per element of a stage that may be repeated
constexpr size_t kMostRepeated = 4;  // such stages: each may double the code

bool has_select(const te::Compute& compute) {
  bool out = false;
  Seen seen;
  for (const te::Expr& value : compute.values) {
    walk_expr(value, seen,
              [&](const te::Expr& x) { out = out || std::holds_alternative<te::Select>(x->kind); });
  }
  return out;
}

size_t loads_from(const te::Compute& reader, const te::Stage& from) {
  auto loads = loads_of(reader);
  return static_cast<size_t>(std::count_if(loads.begin(), loads.end(), [&](const te::Load* load) {
    return std::find(from.outputs.begin(), from.outputs.end(), load->tensor) != from.outputs.end();
  }));
}

/// Returns the number of times that the values of a stage are computed in all.
int64_t points_of(const te::Stage& stage, const te::Compute& compute) {
  int64_t out = elements_of(stage.outputs[0]);
  for (const te::Axis& axis : compute.reduce) out *= std::max<int64_t>(extent_of(axis), 1);
  return out;
}

}  // namespace

const te::Stage& Planner::stage(const std::string& name) const {
  const te::Dag& dag = schedule_.dag();
  return *std::find_if(dag.stages.begin(), dag.stages.end(),
                       [&](const te::Stage& s) { return s.name == name; });
}

const te::Compute* Planner::compute(const std::string& name) const {
  return std::get_if<te::Compute>(&stage(name).kind);
}

std::vector<std::string> Planner::names() const {
  std::vector<std::string> out;
  for (const te::Stage& s : schedule_.dag().stages) out.push_back(s.name);
  return out;
}

bool Planner::is_inlined(const std::string& name) const {
  return std::find(inlined_.begin(), inlined_.end(), name) != inlined_.end();
}

bool Planner::is_result(const te::Stage& stage) const {
  const auto& outputs = schedule_.dag().outputs;
  return std::any_of(stage.outputs.begin(), stage.outputs.end(), [&](const te::Tensor& tensor) {
    return std::find(outputs.begin(), outputs.end(), tensor) != outputs.end();
  });
}

std::vector<const te::Stage*> Planner::readers(const te::Stage& from) const {
  std::vector<const te::Stage*> out;
  for (const te::Stage& reader : schedule_.dag().stages) {
    auto* compute = std::get_if<te::Compute>(&reader.kind);
    auto* procedure = std::get_if<te::Procedure>(&reader.kind);
    bool reads = compute && loads_from(*compute, from) > 0;
    for (const te::Tensor& tensor : procedure ? procedure->inputs : std::vector<te::Tensor>{})
      reads = reads ||
              std::find(from.outputs.begin(), from.outputs.end(), tensor) != from.outputs.end();
    if (reads) out.push_back(&reader);
  }
  return out;
}

// Returns true when a stage should be inlined. A move of elements costs nothing in any place,
// except for a select inside a reduction. A stage with arithmetic is inlined where it has one
// reader that needs each element once.
bool Planner::is_worth_inlining(const te::Stage& from) {
  auto* own = std::get_if<te::Compute>(&from.kind);
  if (!own || !own->reduce.empty() || is_result(from)) return false;
  std::vector<const te::Stage*> by = readers(from);
  bool into_reduction = false;
  for (const te::Stage* reader : by) {
    auto* compute = std::get_if<te::Compute>(&reader->kind);
    if (!compute) return false;
    into_reduction |= !compute->reduce.empty();
  }
  if (work_of(*own) == 1) return !has_select(*own) || !into_reduction;
  if (rules_.inlining == Inlining::kMoves) return false;
  if (by.size() == 1) {
    auto& reader = std::get<te::Compute>(by[0]->kind);
    if (loads_from(reader, from) == 1 && points_of(*by[0], reader) <= elements_of(from.outputs[0]))
      return true;
  }
  return rules_.inlining == Inlining::kRepeated && is_worth_repeating(from);
}

// Counts the stage when it returns true.
bool Planner::is_worth_repeating(const te::Stage& from) {
  if (work_of(std::get<te::Compute>(from.kind)) > kCheap || repeated_ == kMostRepeated)
    return false;
  int64_t times = 0;
  for (const te::Stage* reader : readers(from)) {
    auto& compute = std::get<te::Compute>(reader->kind);
    times += static_cast<int64_t>(loads_from(compute, from)) * points_of(*reader, compute);
  }
  const bool is_cheap = times <= 4 * elements_of(from.outputs[0]);
  repeated_ += is_cheap;
  return is_cheap;
}

void Planner::inline_stages() {
  for (const std::string& name : names()) {
    if (is_worth_inlining(stage(name)) && schedule_.compute_inline(name).ok())
      inlined_.push_back(name);
  }
}

// Divides the outermost loops among threads where there is enough work.
void Planner::parallelize(const std::string& name, std::vector<std::string> outer) {
  const te::Stage& own = stage(name);
  if (target_.threads <= 1 || outer.empty()) return;
  int64_t work = work_of(*compute(name)) * points_of(own, *compute(name));
  for (const te::Stage& other : schedule_.dag().stages) {  // what is computed inside
    if (auto* c = std::get_if<te::Compute>(&other.kind)) work += points_of(other, *c);
  }
  if (work < rules_.grain) return;
  (void)schedule_.parallel(name, outer[0]).ok();
}

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
  if (loops.empty()) return;
  const size_t flat = flat_from(own);
  const int64_t lanes = target_.lanes(dtype_size(stage(name).outputs[0].dtype()));
  const bool has_odd_rows = extent_of(own.axes.back()) % std::max<int64_t>(lanes, 1) != 0;
  while ((flat == 0 || has_odd_rows) && loops.size() > flat + 1 &&
         schedule_.fuse(name, loops[flat], loops[flat + 1]).ok())
    loops = schedule_.loops(name);
  bool is_wide = loops.size() == 1 && elements_of(stage(name).outputs[0]) >= 2 * rules_.block;
  if (is_wide && target_.threads > 1 && schedule_.split(name, loops[0], rules_.block).ok())
    loops = schedule_.loops(name);
  vectorize_inner(name, rules_.has_rows && host_rows(name));
  if (loops.size() > 1) parallelize(name, {loops.begin(), loops.end() - 1});
}

// Vectorises the innermost loop, in iterations of several vectors where these have no dependences,
// such as the remaining work on a row in the first cache.
void Planner::vectorize_inner(const std::string& name, bool has_rows) {
  std::string inner = schedule_.loops(name).back();
  const int64_t lanes = target_.lanes(dtype_size(stage(name).outputs[0].dtype()));
  const bool is_flat = schedule_.loops(name).size() == 1;
  const int64_t row =
      is_flat ? elements_of(stage(name).outputs[0]) : extent_of(compute(name)->axes.back());
  const bool is_long_row = has_rows && row >= 8 * lanes;
  const int64_t vectors = rules_.vectors > 0 ? rules_.vectors : is_long_row ? 4 : 0;
  const bool is_long = is_long_row || (rules_.vectors > 0 && row >= 2 * vectors * lanes);
  if (vectors > 0 && is_long && schedule_.split(name, inner, vectors * lanes).ok()) inner += ".i";
  (void)schedule_.vectorize(name, inner).ok();
}

bool Planner::reads_rows_of(const std::string& producer, const te::Stage& reader) const {
  const te::Stage& from = stage(producer);
  auto& own = std::get<te::Compute>(reader.kind);
  const size_t rank = from.outputs[0].rank();  // partial results have one more axis, the last
  for (const te::Load* load : loads_of(own)) {
    if (std::find(from.outputs.begin(), from.outputs.end(), load->tensor) == from.outputs.end())
      continue;
    if (own.axes.size() < rank) return false;
    for (size_t k = 0; k + 1 < rank; ++k) {
      auto* ref = std::get_if<te::VarRef>(&load->indices[k]->kind);
      bool is_one = extent_of(own.axes[k]) == 1;
      if (!is_one && (!ref || !(ref->var == own.axes[k].var))) return false;
    }
  }
  return true;
}

bool Planner::host_rows(const std::string& name) {
  std::vector<std::string> loops = schedule_.loops(name);
  const size_t rank = compute(name)->axes.size();
  if (rank < 2 || loops.size() != rank) return false;
  bool hosts_any = false;
  std::vector<std::string> all = names();
  for (size_t k = all.size(); k-- > 0;) {
    const te::Stage& producer = stage(all[k]);
    auto* own = std::get_if<te::Compute>(&producer.kind);
    if (!own || all[k] == name || is_inlined(all[k]) || is_result(producer)) continue;
    if (own->axes.size() != rank) continue;
    bool fits = true;
    for (size_t d = 0; d + 1 < rank; ++d)
      fits = fits && extent_of(own->axes[d]) == extent_of(compute(name)->axes[d]);
    for (const te::Stage* reader : readers(producer)) {
      fits = fits && std::holds_alternative<te::Compute>(reader->kind) &&
             reads_rows_of(all[k], *reader);
    }
    if (fits && schedule_.compute_at(all[k], name, loops[rank - 2]).ok()) hosts_any = true;
  }
  return hosts_any;
}

void Planner::plan_stage(const std::string& name) {
  const te::Compute* own = compute(name);
  if (!own || is_inlined(name)) return;
  if (std::find(planned_.begin(), planned_.end(), name) != planned_.end()) return;
  planned_.push_back(name);
  if (own->reduce.empty()) plan_elementwise(name);
  else plan_reduction(name);
}

te::Schedule Planner::plan() && {
  std::vector<std::string> all = names();
  for (const std::string& name : all) {
    const te::Compute* own = compute(name);
    const std::string& choice = stage(name).compute;
    if (own && !own->reduce.empty() && !choice.empty())
      (void)schedule_.for_compute(name, choice).ok();
  }
  inline_stages();
  for (const std::string& name : all) {
    const te::Compute* own = compute(name);
    if (own && !own->reduce.empty()) (void)plan_tiles(name);
  }
  // Sum in lanes before rows are computed where they are read: partial results are refused then.
  for (const std::string& name : all) {
    const te::Compute* own = compute(name);
    bool is_planned = std::find(planned_.begin(), planned_.end(), name) != planned_.end();
    if (own && !own->reduce.empty() && !is_planned) sum_in_lanes(name);
  }
  for (size_t k = all.size(); k-- > 0;) plan_stage(all[k]);
  return std::move(schedule_);
}

}  // namespace byoc::llvm_plugin::topi
