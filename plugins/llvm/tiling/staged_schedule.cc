// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/tiling/staged_schedule.h"

#include <algorithm>

#include "byoc/base/check.h"
#include "plugins/llvm/analysis/walk.h"
#include "plugins/llvm/tiling/access.h"

namespace byoc::llvm_plugin::topi {
namespace {

constexpr int64_t kCheap = 4;        // operations per element of a stage that may be repeated
constexpr size_t kMostRepeated = 4;  // such stages: each may double the code
constexpr int64_t kStagePartsPerThread = 4;  // so that few threads wait for the last part

constexpr const char* kInlining[] = {"moves", "usual", "repeated"};

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

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

// Returns true when each result depends on the terms of its own value only, not on a choice among
// them as positions of extremes do.
bool has_separate_results(const te::Combiner& combiner) {
  for (size_t k = 0; k < combiner.result.size(); ++k) {
    for (size_t other = 0; other < combiner.result.size(); ++other) {
      if (other != k && (has_var(combiner.result[k], combiner.lhs[other]) ||
                         has_var(combiner.result[k], combiner.rhs[other])))
        return false;
    }
  }
  return true;
}

}  // namespace

std::vector<std::string> inlining_names() { return {std::begin(kInlining), std::end(kInlining)}; }
std::string name_of(Inlining inlining) {
  const auto at = static_cast<size_t>(inlining);
  BYOC_CHECK(at < std::size(kInlining), "inlining ", at, " of ", std::size(kInlining));
  return kInlining[at];
}

Inlining inlining_of(std::string_view name) {
  const auto found = std::ranges::find(kInlining, name);
  if (found == std::end(kInlining)) return Inlining::kUsual;
  return static_cast<Inlining>(found - std::begin(kInlining));
}

int64_t points_of(const te::Stage& stage, const te::Compute& compute) {
  int64_t out = elements_of(stage.outputs[0]);
  for (const te::Axis& axis : compute.reduce) out *= std::max<int64_t>(extent_of(axis), 1);
  return out;
}

bool may_load_lanes(const std::vector<const te::Load*>& loads, const te::Var& axis) {
  return std::all_of(loads.begin(), loads.end(), [&](const te::Load* load) {
    auto stride = stride_of(*load, axis);
    return stride == 0 || stride == 1 || stride == 2;
  });
}

bool is_reused(const std::vector<const te::Load*>& loads, const te::Var& lanes, int64_t step,
               const te::Var& axis) {
  return std::any_of(loads.begin(), loads.end(), [&](const te::Load* load) {
    return stride_of(*load, lanes) == step && stride_of(*load, axis) == 0;
  });
}

int64_t tile_factor(int64_t extent, int64_t most) {
  BYOC_CHECK(most > 0, "tiles of at most ", most, " of ", extent);
  if (extent <= most) return extent;
  int64_t best = most;
  double best_cost = 1e9;
  for (int64_t f = most; f > 1 && 2 * f >= most; --f) {
    double full = static_cast<double>(extent / f), rest = extent % f != 0;
    double cost = (full + rest) * static_cast<double>(f + 2);  // 2: the operands that all share
    if (cost < best_cost) best = f, best_cost = cost;
  }
  return best;
}

Status inline_where(te::Schedule& schedule, const te::Dag& dag,
                    const std::function<bool(size_t)>& is_inlined) {
  for (size_t s = 0; s < dag.stages.size(); ++s) {
    if (compute_of(dag.stages[s]) == nullptr || !is_inlined(s)) continue;
    BYOC_TRY_STATUS(schedule.compute_inline(dag.stages[s].name));
  }
  return {};
}

Result<std::string> fuse_all(te::Schedule& schedule, const std::string& stage,
                             const std::vector<std::string>& loops) {
  BYOC_CHECK(!loops.empty(), "no loops of stage ", stage, " are fused");
  std::string out = loops[0];
  for (size_t k = 1; k < loops.size(); ++k) {
    BYOC_TRY_STATUS(schedule.fuse(stage, out, loops[k]));
    out += "." + loops[k];
  }
  return out;
}

Status order_moved(te::Schedule& schedule, const te::Stage& stage, int64_t lanes) {
  const te::Compute* own = compute_of(stage);
  if (own == nullptr || own->axes.empty()) return {};
  const std::string last = cat("i", own->axes.size() - 1);
  std::vector<std::string> outer;
  for (size_t d = 0; d + 1 < own->axes.size(); ++d) outer.push_back(cat("i", d));
  if (!outer.empty()) {
    BYOC_TRY(const std::string rows, fuse_all(schedule, stage.name, outer));
    BYOC_TRY_STATUS(schedule.parallel(stage.name, rows));
  }
  if (extent_of(own->axes.back()) <= lanes) return schedule.vectorize(stage.name, last);
  BYOC_TRY_STATUS(schedule.split(stage.name, last, lanes));
  return schedule.vectorize(stage.name, last + ".i");
}

const te::Stage& StagedSchedule::stage(const std::string& name) const {
  const te::Dag& dag = schedule_.dag();
  const auto found = std::find_if(dag.stages.begin(), dag.stages.end(),
                                  [&](const te::Stage& s) { return s.name == name; });
  BYOC_CHECK(found != dag.stages.end(), dag.name, " has no stage ", name);
  return *found;
}

const te::Compute* StagedSchedule::compute(const std::string& name) const {
  return std::get_if<te::Compute>(&stage(name).kind);
}

std::vector<std::string> StagedSchedule::names() const {
  std::vector<std::string> out;
  for (const te::Stage& s : schedule_.dag().stages) out.push_back(s.name);
  return out;
}

bool StagedSchedule::is_inlined(const std::string& name) const { return contains(inlined_, name); }
bool StagedSchedule::is_planned(const std::string& name) const { return contains(planned_, name); }

int64_t StagedSchedule::lanes_of(const std::string& name) const {
  return target_.lanes(dtype_size(stage(name).outputs[0].dtype()));
}

bool StagedSchedule::is_result(const te::Stage& stage) const {
  const auto& outputs = schedule_.dag().outputs;
  return std::any_of(stage.outputs.begin(), stage.outputs.end(), [&](const te::Tensor& tensor) {
    return std::find(outputs.begin(), outputs.end(), tensor) != outputs.end();
  });
}

std::vector<const te::Stage*> StagedSchedule::readers(const te::Stage& from) const {
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

void StagedSchedule::state_computes() {
  for (const std::string& name : names()) {
    const te::Compute* own = compute(name);
    const std::string& choice = stage(name).compute;
    if (own && !own->reduce.empty() && !choice.empty())
      (void)schedule_.for_compute(name, choice).ok();
  }
}

// Returns true when a stage should be inlined. A move of elements costs nothing in any place,
// except for a select inside a reduction; the statements of a procedure are left to read memory in
// the order that they were written for. A stage with arithmetic is inlined where it has one reader
// that needs each element once.
bool StagedSchedule::is_worth_inlining(const te::Stage& from, Inlining inlining) {
  auto* own = std::get_if<te::Compute>(&from.kind);
  if (!own || !own->reduce.empty() || is_result(from)) return false;
  std::vector<const te::Stage*> by = readers(from);
  bool into_reduction = false;
  for (const te::Stage* reader : by) {
    auto* compute = std::get_if<te::Compute>(&reader->kind);
    if (!compute && !keeps_order(*own)) return false;
    into_reduction |= compute && !compute->reduce.empty();
  }
  if (work_of(*own) == 1) return !has_select(*own) || !into_reduction;
  if (inlining == Inlining::kMoves) return false;
  if (by.size() == 1 && std::holds_alternative<te::Compute>(by[0]->kind)) {
    auto& reader = std::get<te::Compute>(by[0]->kind);
    if (loads_from(reader, from) == 1 && points_of(*by[0], reader) <= elements_of(from.outputs[0]))
      return true;
  }
  return inlining == Inlining::kRepeated && is_worth_repeating(from);
}

// Counts the stage when it returns true.
bool StagedSchedule::is_worth_repeating(const te::Stage& from) {
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

void StagedSchedule::inline_stages(Inlining inlining) {
  for (const std::string& name : names()) {
    if (is_worth_inlining(stage(name), inlining) && schedule_.compute_inline(name).ok())
      inlined_.push_back(name);
  }
}

bool StagedSchedule::reads_rows_of(const std::string& producer, const te::Stage& reader,
                                   size_t depth) const {
  const te::Stage& from = stage(producer);
  auto& own = std::get<te::Compute>(reader.kind);
  for (const te::Load* load : loads_of(own)) {
    if (std::find(from.outputs.begin(), from.outputs.end(), load->tensor) == from.outputs.end())
      continue;
    if (own.axes.size() < depth || load->indices.size() < depth) return false;
    for (size_t k = 0; k < depth; ++k) {
      auto* ref = std::get_if<te::VarRef>(&load->indices[k]->kind);
      bool is_one = extent_of(own.axes[k]) == 1;
      if (!is_one && (!ref || !(ref->var == own.axes[k].var))) return false;
    }
  }
  return true;
}

const te::Stage* StagedSchedule::next_step(const te::Stage& from) const {
  const std::vector<const te::Stage*> by = readers(from);
  if (is_result(from) || by.size() != 1 || from.outputs.size() != 1) return nullptr;
  const te::Tensor& own = from.outputs[0];
  auto* reader = std::get_if<te::Compute>(&by[0]->kind);
  if (!reader || !reader->reduce.empty() || reader->axes.size() != own.rank()) return nullptr;
  const bool is_step = std::ranges::all_of(loads_of(*reader), [&](const te::Load* load) {
    return load->tensor != own || is_elementwise(*load, reader->axes);
  });
  return is_step ? by[0] : nullptr;
}

std::optional<SumStages> StagedSchedule::with_last_step(const std::string& name) {
  const te::Stage* last = next_step(stage(name));
  while (last != nullptr && is_inlined(last->name)) last = next_step(*last);
  if (last != nullptr && is_result(*last)) return SumStages{name, last->name};
  if (!schedule_.cache_write(name).ok()) return std::nullopt;
  return SumStages{name + ".cache", name};
}

// Returns the extents of the stage's axes and of the loops that were made of them. The outer loop
// of a split with a remainder has none: its last iteration is shorter.
std::unordered_map<std::string, int64_t> StagedSchedule::loop_extents(
    const std::string& name) const {
  std::unordered_map<std::string, int64_t> out;
  BYOC_CHECK(compute(name) != nullptr, "stage ", name, " has no axes");
  for (const te::Axis& axis : compute(name)->axes) out[axis.var.name()] = extent_of(axis);
  for (const te::Step& step : schedule_.trace().steps) {
    if (step.stage != name || step.names.empty() || !out.contains(step.names[0])) continue;
    const std::string& first = step.names[0];
    if (step.primitive == "split") {
      BYOC_CHECK(!step.numbers.empty() && step.numbers[0] > 0, "a split of ", first, " by nothing");
      const int64_t whole = out[first], factor = step.numbers[0];
      if (whole % factor == 0) out[first + ".o"] = whole / factor;
      out[first + ".i"] = factor;
    } else if (step.primitive == "fuse") {
      BYOC_CHECK(step.names.size() == 2, "a fusion of ", step.names.size(), " loops");
      if (!out.contains(step.names[1])) continue;
      out[first + "." + step.names[1]] = out[first] * out[step.names[1]];
    }
  }
  return out;
}

// Returns the first of these loops, fused with those inside of it until there are parts for all
// threads. A loop of one iteration that cannot be fused is left out.
std::string StagedSchedule::shared_loop(const std::string& name,
                                        const std::vector<std::string>& outer) {
  std::unordered_map<std::string, int64_t> extents = loop_extents(name);
  std::string loop = outer[0];
  for (size_t k = 1; k < outer.size() && extents.contains(loop); ++k) {
    const int64_t parts = extents[loop];
    if (parts >= kStagePartsPerThread * target_.threads) break;
    if (extents.contains(outer[k]) && schedule_.fuse(name, loop, outer[k]).ok()) {
      loop += "." + outer[k];
      extents[loop] = parts * extents[outer[k]];
    } else if (parts == 1) {
      loop = outer[k];
    } else {
      break;
    }
  }
  return loop;
}

void StagedSchedule::parallelize(const std::string& name, const std::vector<std::string>& outer,
                                 int64_t grain) {
  const te::Stage& own = stage(name);
  if (target_.threads <= 1 || outer.empty()) return;
  int64_t work = work_of(*compute(name)) * points_of(own, *compute(name));
  for (const te::Stage& other : schedule_.dag().stages) {  // what is computed inside
    if (auto* c = std::get_if<te::Compute>(&other.kind)) work += points_of(other, *c);
  }
  if (work < grain && !target_.shares_all) return;
  (void)schedule_.parallel(name, shared_loop(name, outer)).ok();
}

// Keeps the reduction over `loop` in vectors of `width` lanes and returns the stage of the partial
// results, or "" where there can be none.
std::string StagedSchedule::split_into_lanes(const std::string& name, const std::string& loop,
                                             int64_t width) {
  if (!schedule_.split(name, loop, width).ok()) return "";
  if (!schedule_.rfactor(name, loop + ".i").ok()) return "";
  std::vector<std::string> all = names();
  const auto own = std::find(all.begin(), all.end(), name);
  BYOC_CHECK(own != all.begin() && own != all.end(), "no stage comes before ", name);
  std::string partial = *(own - 1);
  planned_.push_back(partial);
  const size_t lanes = compute(name)->axes.size();  // its last axis
  std::vector<std::string> loops = schedule_.loops(partial), order;
  for (size_t k = 0; k < loops.size(); ++k) {
    if (k != lanes) order.push_back(loops[k]);
  }
  BYOC_CHECK(lanes < loops.size(), "loop ", lanes, " of ", loops.size(), " of ", partial);
  order.push_back(loops[lanes]);
  if (schedule_.reorder(partial, order).ok()) (void)schedule_.vectorize(partial, order.back()).ok();
  return partial;
}

// Fuses the last loops of a reduction whose terms follow each other in memory, such as the rows
// and columns of planes.
StagedSchedule::Terms StagedSchedule::join_terms(const std::string& name) {
  const te::Compute& own = *compute(name);
  size_t k = own.reduce.size() - 1;
  Terms out{schedule_.loops(name).back(), extent_of(own.reduce[k])};
  const auto loads = loads_of(own);
  for (; k > 0; --k) {
    const te::Axis &outer = own.reduce[k - 1], &last = own.reduce.back();
    const bool follows = std::ranges::all_of(loads, [&](const te::Load* load) {
      const auto step = stride_of(*load, last.var), row = stride_of(*load, outer.var);
      return step && row && *row == *step * out.count;
    });
    if (!follows || extent_of(outer) < 1) break;
    const std::vector<std::string> loops = schedule_.loops(name);
    const std::string& before = loops[loops.size() - 2];
    if (!schedule_.fuse(name, before, out.loop).ok()) break;
    out = {schedule_.loops(name).back(), out.count * extent_of(outer)};
  }
  return out;
}

void StagedSchedule::sum_in_lanes(const std::string& name, int64_t partials, int64_t least) {
  const te::Compute& own = *compute(name);
  BYOC_CHECK(!own.reduce.empty() && partials > 0, "stage ", name, " keeps ", partials,
             " vectors of ", own.reduce.size(), " sums");
  const te::Axis along = own.reduce.back();
  const int64_t lanes = lanes_of(name);
  if (!has_separate_results(own.combiner) || lanes < 2 || extent_of(along) < 1) return;
  if (!may_load_lanes(loads_of(own), along.var)) return;
  const size_t spatial = own.axes.size();
  const auto [loop, count] = join_terms(name);
  if (count < least * lanes) return;
  const int64_t width = partials * lanes;
  const bool is_long = partials > 1 && count >= 2 * width;
  std::vector<std::string> made = {split_into_lanes(name, loop, is_long ? width : lanes)};
  // the vectors of several, then the lanes as a tree: one half and the other, until two are left
  std::string inner = loop + ".i";
  for (int64_t part = is_long ? lanes : lanes / 2; part > 1 && !made.back().empty(); part /= 2) {
    made.push_back(split_into_lanes(name, inner, part));
    if (!made.back().empty()) (void)schedule_.unroll(made.back(), inner + ".o").ok();
    inner += ".i";
  }
  for (size_t k = made.size(); k-- > 0;) {  // readers first
    if (spatial > 0 && !made[k].empty())
      (void)schedule_.compute_at(made[k], name, schedule_.loops(name)[spatial - 1]).ok();
  }
}

}  // namespace byoc::llvm_plugin::topi
