// SPDX-License-Identifier: Apache-2.0
// Parses tensor expressions with a schedule, and lowers them to loops:
//   te f(x: f32[4, 8], w: f32[8]) -> (y) {
//     t = sum for i < 4 over k < 8: x[i, k] * w[k]
//     y = for i < 4: max(t[i], 0.0)
//   } schedule "compute_at(t, y, i)"
#include <map>

#include "byoc/te/schedule.h"
#include "core/te/text/parser.h"

namespace byoc::te {
namespace {

using MakeCombiner = Combiner (*)(DType);

const std::map<std::string_view, MakeCombiner>& combiners() {
  static const std::map<std::string_view, MakeCombiner> all = {
      {"sum", sum_of}, {"product", product_of}, {"min", min_of}, {"max", max_of}};
  return all;
}

}  // namespace

Result<LoopFunction> Parser::te_function() {
  const size_t at = (in_.rest(), in_.at());
  Dag dag;
  BYOC_TRY(dag.name, in_.name("the name of a function", true));
  BYOC_TRY_STATUS(tensors(dag.inputs, true));
  for (const Tensor& input : dag.inputs)
    dag.stages.push_back({input.name(), {input}, Placeholder{}, {}, {}, 0});
  BYOC_TRY_STATUS(in_.expect("->"));
  BYOC_TRY_STATUS(in_.expect("("));
  std::vector<std::pair<std::string, size_t>> outputs;
  while (!in_.take(")")) {
    if (!outputs.empty()) BYOC_TRY_STATUS(in_.expect(","));
    const size_t place = (in_.rest(), in_.at());
    BYOC_TRY(std::string name, in_.name("the name of a result"));
    outputs.emplace_back(std::move(name), place);
  }
  BYOC_TRY_STATUS(in_.expect("{"));
  while (!in_.take("}")) BYOC_TRY_STATUS(stage(dag));
  for (const auto& [name, place] : outputs) {
    BYOC_TRY(const Memory* result, memory(name, place));
    dag.outputs.push_back(*result->tensor);
    const Stage& made = dag.stages[stage_of(dag, dag.outputs.back())];
    if (std::holds_alternative<Placeholder>(made.kind))
      return in_.wrong(place, cat(name, " is an input and no result"));
  }
  return scheduled(std::move(dag), at);
}

// Parses the trace, when there is one, and lowers the stages.
Result<LoopFunction> Parser::scheduled(Dag dag, size_t at) {
  Trace trace;
  if (in_.take_word("schedule")) {
    at = (in_.rest(), in_.at());
    BYOC_TRY(std::string text, in_.name("a schedule in quotes"));
    Result<Trace> parsed = parse_trace(text);
    if (!parsed.ok()) return in_.wrong(at, parsed.status().message());
    trace = *std::move(parsed);
  }
  Result<Schedule> schedule = replay(std::move(dag), trace);
  if (!schedule.ok()) {
    const Status& why = schedule.status();
    return in_.wrong(at, cat(why.message(), why.where().empty() ? "" : ", ", why.where()));
  }
  Result<LoopFunction> out = lower(*schedule);
  if (!out.ok()) return in_.wrong(at, out.status().message());
  return out;
}

// Parses t = for i < 4: x, or y = sum for i < 4 over k < 8: x.
Status Parser::stage(Dag& dag) {
  const size_t at = (in_.rest(), in_.at());
  Stage out;
  BYOC_TRY(out.name, in_.name("the name of a stage or '}'"));
  if (tensors_.find(out.name) != nullptr)
    return in_.wrong(at, cat("two tensors are called ", out.name));
  BYOC_TRY_STATUS(in_.expect("="));
  const auto known = combiners().find(in_.word());
  if (known != combiners().end()) in_.advance(known->first.size());
  const size_t mark = vars_.mark();
  BYOC_TRY(Compute compute, this->compute(known != combiners().end()));
  vars_.close(mark);
  const DType dtype = compute.values[0].dtype();
  if (known != combiners().end()) {
    if (dtype == DType::kBool || compute.reduce.empty())
      return in_.wrong(at, cat(known->first, " is over numbers: for i < 4 over k < 8: x[i, k]"));
    compute.combiner = known->second(dtype);
  }
  Exprs shape;
  for (const Axis& axis : compute.axes) shape.push_back(axis.extent);
  for (const auto* axes : {&compute.axes, &compute.reduce}) {
    for (const Axis& axis : *axes) {
      const std::optional<int64_t> extent = as_int(axis.extent);
      if (!extent || *extent < 0 || axis.extent.dtype() != DType::kI64)
        return in_.wrong(at, cat("the extent of axis ", axis.var.name(), " is no number"));
    }
  }
  const Tensor tensor(out.name, dtype, std::move(shape));
  if (!is_countable(tensor))
    return in_.wrong(at, cat(out.name, " has no size that memory can have"));
  tensors_.add(out.name, {tensor, true});
  out.outputs = {tensor};
  out.kind = std::move(compute);
  dag.stages.push_back(std::move(out));
  return {};
}

}  // namespace byoc::te
