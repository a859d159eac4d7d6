// SPDX-License-Identifier: Apache-2.0
// Parses tensor expressions with a schedule, and lowers them to loops:
//   te f(x: f32[4, 8], w: f32[8]) -> (y) {
//     t = sum for i < 4 over k < 8: x[i, k] * w[k]
//     y = for i < 4: max(t[i], 0.0)
//   } schedule "compute_at(t, y, i)"
#include <algorithm>
#include <map>

#include "byoc/te/text.h"
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
  BYOC_TRY(Dag dag, this->dag());
  return scheduled(std::move(dag), at);
}

// Parses a Dag after the word te. Inputs without a line of their own come first.
Result<Dag> Parser::dag() {
  Dag dag;
  BYOC_TRY(dag.name, in_.name("the name of a function", true));
  BYOC_TRY_STATUS(tensors(dag.inputs, true));
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
  std::vector<Stage> first;
  for (const Tensor& input : dag.inputs) {
    if (!placed_.contains(input.id())) first.push_back(input_stage(input));
  }
  dag.stages.insert(dag.stages.begin(), first.begin(), first.end());
  for (const auto& [name, place] : outputs) {
    BYOC_TRY(const Memory* result, memory(name, place));
    dag.outputs.push_back(*result->tensor);
    const auto is_same = [&](const Tensor& input) { return input == dag.outputs.back(); };
    if (std::any_of(dag.inputs.begin(), dag.inputs.end(), is_same))
      return in_.wrong(place, cat(name, " is an input and no result"));
  }
  return dag;
}

Result<Trace> Parser::trace() {
  if (!in_.take_word("schedule")) return Trace();
  const size_t at = (in_.rest(), in_.at());
  BYOC_TRY(std::string text, in_.name("a schedule in quotes"));
  Result<Trace> parsed = parse_trace(text);
  if (!parsed.ok()) return in_.wrong(at, parsed.status().message());
  return parsed;
}

// Parses the trace, when there is one, and lowers the stages.
Result<LoopFunction> Parser::scheduled(Dag dag, size_t at) {
  if (in_.word() == "schedule") at = in_.at();
  BYOC_TRY(Trace trace, this->trace());
  Result<Schedule> schedule = replay(std::move(dag), trace);
  if (!schedule.ok()) {
    const Status& why = schedule.status();
    return in_.wrong(at, cat(why.message(), why.where().empty() ? "" : ", ", why.where()));
  }
  Result<LoopFunction> out = lower(*schedule);
  if (!out.ok()) return in_.wrong(at, out.status().message());
  return out;
}

// Parses the line `input x`, or a stage: t = for i < 4: x, or y = sum for i < 4 over k < 8: x, or
// z: f32[4] = procedure(x) { ... }.
Status Parser::stage(Dag& dag) {
  const size_t at = (in_.rest(), in_.at());
  if (in_.take_word("input")) return place_input(dag, at);
  Stage out;
  std::vector<std::string> names;
  do {
    const size_t place = (in_.rest(), in_.at());
    BYOC_TRY(std::string name, in_.name("the name of a stage or '}'"));
    if (tensors_.find(name) != nullptr)
      return in_.wrong(place, cat("two tensors are called ", name));
    if (in_.is_at(":")) {
      BYOC_TRY(Tensor typed, tensor(name, false));
      out.outputs.push_back(std::move(typed));
    }
    names.push_back(std::move(name));
  } while (in_.take(","));
  out.name = names[0];
  BYOC_TRY_STATUS(origin(out));
  BYOC_TRY_STATUS(in_.expect("="));
  if (!out.outputs.empty()) {
    if (out.outputs.size() != names.size()) return in_.wrong(at, "some outputs have no type");
    BYOC_TRY_STATUS(procedure(out));
  } else {
    BYOC_TRY(Compute compute, stage_compute(names, at));
    Exprs shape;
    for (const Axis& axis : compute.axes) shape.push_back(axis.extent);
    for (size_t k = 0; k < names.size(); ++k)
      out.outputs.emplace_back(names[k], compute.values[k].dtype(), shape);
    out.kind = std::move(compute);
  }
  for (const Tensor& output : out.outputs) {
    if (!is_countable(output))
      return in_.wrong(at, cat(output.name(), " has no size that memory can have"));
    tensors_.add(output.name(), {output, true});
  }
  dag.stages.push_back(std::move(out));
  return {};
}

Status Parser::place_input(Dag& dag, size_t at) {
  BYOC_TRY(std::string name, in_.name("an input"));
  const auto is_named = [&](const Tensor& input) { return input.name() == name; };
  const auto input = std::find_if(dag.inputs.begin(), dag.inputs.end(), is_named);
  if (input == dag.inputs.end() || !placed_.insert(input->id()).second)
    return in_.wrong(at, cat(name, " is no input, or has a line already"));
  dag.stages.push_back(input_stage(*input));
  return {};
}

Stage Parser::input_stage(const Tensor& input) {
  return {input.name(), {input}, Placeholder{}, {}, {}, 0};
}

// Parses of "conv2d" by "direct" at 3: the op, the choice of the selector, the node.
Status Parser::origin(Stage& stage) {
  if (in_.take_word("of")) {
    BYOC_TRY(stage.op, in_.name("an op"));
  }
  if (in_.take_word("by")) {
    BYOC_TRY(stage.compute, in_.name("the choice of a selector"));
  }
  if (!in_.take_word("at")) return {};
  const size_t at = in_.at();
  BYOC_TRY(int64_t call, in_.integer());
  if (call < 0 || call > UINT32_MAX) return in_.wrong(at, "the number of a node is a u32");
  stage.call = static_cast<uint32_t>(call);
  return {};
}

Result<Compute> Parser::stage_compute(const std::vector<std::string>& names, size_t at) {
  const auto known = combiners().find(in_.word());
  const bool is_known = known != combiners().end();
  if (is_known) in_.advance(known->first.size());
  const size_t mark = vars_.mark();
  BYOC_TRY(Compute compute, this->compute(is_known));
  vars_.close(mark);
  if (compute.values.size() != names.size())
    return in_.wrong(at, cat(names.size(), " outputs of ", compute.values.size(), " values"));
  for (const auto* axes : {&compute.axes, &compute.reduce}) {
    for (const Axis& axis : *axes) {
      const std::optional<int64_t> extent = as_int(axis.extent);
      if (!extent || *extent < 0 || axis.extent.dtype() != DType::kI64)
        return in_.wrong(at, cat("the extent of axis ", axis.var.name(), " is no number"));
    }
  }
  if (!is_known) return compute;
  const DType dtype = compute.values[0].dtype();
  if (dtype == DType::kBool || compute.reduce.empty() || names.size() != 1)
    return in_.wrong(at, cat(known->first, " is over numbers: for i < 4 over k < 8: x[i, k]"));
  compute.combiner = known->second(dtype);
  return compute;
}

// Parses procedure(x) { ... }: loops that write the outputs.
Status Parser::procedure(Stage& stage) {
  if (!in_.take_word("procedure")) return in_.expected("'procedure'");
  BYOC_TRY_STATUS(in_.expect("("));
  Procedure out;
  while (!in_.take(")")) {
    if (!out.inputs.empty()) BYOC_TRY_STATUS(in_.expect(","));
    const size_t at = (in_.rest(), in_.at());
    BYOC_TRY(std::string name, in_.name("a tensor"));
    BYOC_TRY(const Memory* known, memory(name, at));
    out.inputs.push_back(*known->tensor);
  }
  BYOC_TRY_STATUS(in_.expect("{"));
  while (in_.take_word("kernel")) BYOC_TRY_STATUS(kernel());
  const size_t mark = tensors_.mark();
  for (const Tensor& output : stage.outputs) tensors_.add(output.name(), {output});
  BYOC_TRY(out.body, block());
  tensors_.close(mark);
  stage.kind = std::move(out);
  return {};
}

Result<ScheduledDag> parse_te(std::string_view text) {
  Parser parser(text, 0);
  return parser.te();
}

Result<ScheduledDag> Parser::te() {
  if (!in_.take_word("te")) return in_.expected("'te'");
  ScheduledDag out;
  BYOC_TRY(out.dag, dag());
  BYOC_TRY(out.trace, trace());
  if (!in_.rest().empty()) return in_.expected("the end of the text");
  return out;
}

}  // namespace byoc::te
