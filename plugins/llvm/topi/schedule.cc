// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/topi/schedule.h"

#include <algorithm>

#include "plugins/llvm/tiling/access.h"
#include "plugins/llvm/topi/planner.h"

namespace byoc::llvm_plugin::topi {
namespace {

constexpr int64_t kLongRow = 512;   // elements
constexpr size_t kMostStages = 64;  // of Dags for which all choices are compared

Point point_of(const PlanRules& rules) {
  return {{"vectors", cat(rules.vectors)},
          {"inlining", name_of(rules.inlining)},
          {"rows", rules.has_rows ? "1" : "0"},
          {"sums", cat(rules.sums)},
          {"tile_vectors", cat(rules.tile_vectors)},
          {"partials", cat(rules.partials)},
          {"grain", cat(rules.grain)},
          {"block", cat(rules.block)}};
}

PlanRules rules_at(const Point& point) {
  PlanRules out;
  out.vectors = number_at(point, "vectors");
  out.inlining = inlining_of(point.at("inlining"));
  out.has_rows = number_at(point, "rows") != 0;
  out.sums = number_at(point, "sums");
  out.tile_vectors = number_at(point, "tile_vectors");
  out.partials = number_at(point, "partials");
  out.grain = number_at(point, "grain");
  out.block = number_at(point, "block");
  return out;
}

/// The rows that a Dag reduces.
struct Rows {
  int64_t length = 0;         // terms of the longest reduction; 0: there is none of rows alone
  int64_t bytes = 0;          // of the largest tensor
  bool has_function = false;  // a stage stores exp or the like of each element, as softmax does
};

Rows rows_of(const te::Dag& dag) {
  Rows out;
  for (const te::Stage& stage : dag.stages) {
    auto* own = std::get_if<te::Compute>(&stage.kind);
    for (const te::Tensor& tensor : stage.outputs) {
      const auto size = static_cast<int64_t>(dtype_size(tensor.dtype()));
      out.bytes = std::max(out.bytes, elements_of(tensor) * size);
    }
    if (std::holds_alternative<te::Procedure>(stage.kind)) return {};
    if (own == nullptr) continue;
    const bool is_result = std::ranges::find(dag.outputs, stage.outputs[0]) != dag.outputs.end();
    if (own->reduce.empty()) out.has_function |= !is_result && work_of(*own) >= kFunctionWork;
    else if (own->reduce.size() != 1 || !reads_each_once(*own)) return {};
    else out.length = std::max(out.length, extent_of(own->reduce[0]));
  }
  return out;
}

// Returns the rules that are usually fast. Rows in the second cache are reduced one stage after the
// other: the processor then works on several rows at a time. Long rows have more partial sums.
// Measured on Zen 5, with AVX-512 and with AVX2. Threads share rows that are computed as a whole,
// except short ones: steps of one number per row are then vectors of rows.
PlanRules usual_rules(const te::Dag& dag, const te::Target& target) {
  PlanRules out;
  const Rows rows = rows_of(dag);
  const bool is_short = rows.length < 2 * target.lanes(sizeof(float));
  if (rows.length == 0 || (target.threads > 1 && !is_short)) return out;
  const bool is_wide = target.vector_registers >= 32;
  out.has_rows =
      rows.bytes * (rows.has_function ? 2 : 1) > target.l2_bytes || (rows.has_function && !is_wide);
  if (rows.length >= kLongRow) out.partials *= 2;
  return out;
}

te::Schedule schedule_at(const te::Dag& dag, const te::Target& target, const Point& point) {
  return Planner(dag, target, rules_at(point)).plan();
}

std::vector<Knob> all_knobs(const te::Target& target) {
  std::vector<int64_t> sums = {4, 6, 8, 12};
  for (int64_t more : {16, 20, 24}) {
    if (more + 4 <= target.vector_registers) sums.push_back(more);
  }
  std::vector<Knob> out = {knob_of("vectors", {0, 1, 2, 4, 8}),
                           {"inlining", inlining_names()},
                           knob_of("rows", {0, 1}),
                           knob_of("sums", sums),
                           knob_of("tile_vectors", {1, 2, 4}),
                           knob_of("partials", {1, 2, 4, 8})};
  const bool is_parallel = target.threads > 1;
  out.push_back(knob_of("grain", is_parallel ? std::vector<int64_t>{1 << 13, 1 << 15, 1 << 17}
                                             : std::vector<int64_t>{}));
  out.push_back(knob_of(
      "block", is_parallel ? std::vector<int64_t>{1024, 4096, 16384} : std::vector<int64_t>{}));
  return out;
}

// Keeps the values of a knob that change the schedule when the other knobs have the usual ones, of
// equal schedules the first. Returns the points with one such value, that of the last one first.
std::vector<Point> keep_values(const te::Dag& dag, const te::Target& target, const Point& first,
                               const std::string& usual, Knob& knob) {
  std::vector<Point> out;
  std::vector<std::string> values = {first.at(knob.name)}, texts = {usual};
  for (const std::string& value : knob.values) {
    Point point = first;
    point[knob.name] = value;
    std::string text = te::print(schedule_at(dag, target, point).trace());
    if (std::ranges::find(texts, text) != texts.end()) continue;
    values.push_back(value);
    texts.push_back(std::move(text));
    out.insert(out.begin(), std::move(point));
  }
  knob.values = std::move(values);
  return out;
}

Choices default_choices(const te::Dag& dag, const te::Target& target) {
  const Point first = point_of(usual_rules(dag, target));
  std::vector<Knob> knobs = all_knobs(target);
  std::vector<Point> guesses = {first};
  if (dag.stages.size() > kMostStages) return complete(std::move(knobs), guesses);
  const std::string usual = te::print(schedule_at(dag, target, first).trace());
  std::vector<std::vector<Point>> others;
  size_t most = 0;
  for (Knob& knob : knobs) {
    others.push_back(keep_values(dag, target, first, usual, knob));
    most = std::max(most, others.back().size());
  }
  for (size_t k = 0; k < most; ++k) {  // one of each knob, then the next of each
    for (const std::vector<Point>& points : others) {
      if (k < points.size()) guesses.push_back(points[k]);
    }
  }
  return complete(std::move(knobs), guesses);
}

// Returns "conv2d" for those in plain layouts, which have several computes.
std::string kind_of(const te::Dag& dag) {
  std::string out = "elementwise";
  for (const te::Stage& stage : dag.stages) {
    auto* compute = std::get_if<te::Compute>(&stage.kind);
    if (compute == nullptr || compute->reduce.empty()) continue;
    if (stage.op == "conv2d") return "conv2d";
    out = "reduction";
  }
  return out;
}

}  // namespace

Template default_template(const te::Dag& dag, const te::Target& target) {
  Template out{kind_of(dag), point_of(usual_rules(dag, target)), {}, {}};
  out.choices = [&dag, target] { return default_choices(dag, target); };
  out.at = [&dag, target](const Point& point) {
    return Result<te::Schedule>(schedule_at(dag, target, point));
  };
  return out;
}

}  // namespace byoc::llvm_plugin::topi
