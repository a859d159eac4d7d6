// SPDX-License-Identifier: Apache-2.0
// Parses the head of a loop function and the declarations of micro-kernels in it.
#include <algorithm>

#include "byoc/te/text.h"
#include "core/te/lower/tensorize.h"
#include "core/te/text/parser.h"
#include "core/te/text/words.h"

namespace byoc::te {

Result<LoopFunction> Parser::function() {
  if (in_.take_word("te")) return te_function();
  LoopFunction out;
  if (!in_.take_word("loops")) return in_.expected("'loops' or 'te'");
  BYOC_TRY(out.name, in_.name("the name of a function", true));
  if (in_.take_word("sizes")) BYOC_TRY_STATUS(sizes(out.sizes));
  BYOC_TRY_STATUS(tensors(out.inputs, true));
  BYOC_TRY_STATUS(in_.expect("->"));
  BYOC_TRY_STATUS(tensors(out.outputs, false));
  BYOC_TRY_STATUS(in_.expect("{"));
  while (in_.take_word("kernel")) BYOC_TRY_STATUS(kernel());
  BYOC_TRY(out.body, block());
  return out;
}

// Parses 1<=B<=4, 1<=T<=64. The result is ordered by name, as the sizes of a call are.
Status Parser::sizes(std::vector<Var>& out) {
  do {
    const size_t at = (in_.rest(), in_.at());
    BYOC_TRY(const int64_t least, in_.integer());
    BYOC_TRY_STATUS(in_.expect("<="));
    BYOC_TRY(std::string name, in_.name("the name of a size"));
    BYOC_TRY_STATUS(in_.expect("<="));
    BYOC_TRY(const int64_t most, in_.integer());
    if (least < 0 || least > most)
      return in_.wrong(at, cat("the size ", name, " is from ", least, " to ", most));
    if (vars_.find(name) != nullptr) return in_.wrong(at, cat("two sizes are called ", name));
    out.push_back(Var::size(name, least, most));
    vars_.add(name, {Expr(out.back())});
  } while (in_.take(","));
  std::ranges::sort(out, {}, &Var::name);
  return {};
}

// Parses (x: f32[2], y: f32[n]). Names in shapes that have no meaning yet are variables that the
// caller binds.
Status Parser::tensors(std::vector<Tensor>& out, bool is_input) {
  BYOC_TRY_STATUS(in_.expect("("));
  for (bool is_first = true; !in_.take(")"); is_first = false) {
    if (!is_first) BYOC_TRY_STATUS(in_.expect(","));
    const size_t at = (in_.rest(), in_.at());
    BYOC_TRY(std::string name, in_.name("the name of a tensor"));
    if (tensors_.find(name) != nullptr) return in_.wrong(at, cat("two tensors are called ", name));
    BYOC_TRY(Tensor made, tensor(name, true));
    tensors_.add(name, {made, is_input});
    out.push_back(std::move(made));
  }
  return {};
}

// Parses name: (a: f32[4, k]) -> (c: f32[4]) strides [any, 1], [1] { for i < 4 over r < k: ... }.
// Names have a meaning in the declaration alone.
Status Parser::kernel() {
  const size_t at = (in_.rest(), in_.at());
  auto intrin = std::make_shared<TensorIntrin>();
  BYOC_TRY(intrin->name, in_.name("the name of a micro-kernel"));
  BYOC_TRY_STATUS(in_.expect(":"));
  auto vars = std::exchange(vars_, {});
  auto memory = std::exchange(tensors_, {});
  Dag& dag = intrin->dag;
  dag.name = intrin->name;
  BYOC_TRY_STATUS(tensors(dag.inputs, true));
  BYOC_TRY_STATUS(in_.expect("->"));
  BYOC_TRY_STATUS(tensors(dag.outputs, false));
  if (in_.take_word("strides")) BYOC_TRY_STATUS(strides(*intrin));
  BYOC_TRY_STATUS(in_.expect("{"));
  for (const Tensor& input : dag.inputs)
    dag.stages.push_back({input.name(), {input}, Placeholder{}, {}, {}, 0});
  Stage stage{dag.outputs.empty() ? "" : dag.outputs[0].name(), dag.outputs, {}, {}, {}, 0};
  BYOC_TRY(stage.kind, compute());
  dag.stages.push_back(std::move(stage));
  BYOC_TRY_STATUS(in_.expect("}"));
  vars_ = std::move(vars);
  tensors_ = std::move(memory);
  Status status = check_types(*intrin);
  if (status.ok()) status = check_declaration(*intrin);
  if (!status.ok()) return in_.wrong(at, status.message());
  if (!kernels_.emplace(intrin->name, intrin).second)
    return in_.wrong(at, cat("micro-kernel ", intrin->name, " is declared twice"));
  return {};
}

Status Parser::check_types(const TensorIntrin& intrin) {
  const Compute& compute = std::get<Compute>(intrin.dag.stages.back().kind);
  auto wrong = [&](std::string_view why) { return invalid(cat("micro-kernel: ", why)); };
  if (intrin.dag.outputs.size() != 1 || compute.values.size() != 1)
    return wrong("it has one output and one value");
  const Tensor& output = intrin.dag.outputs[0];
  if (compute.values[0].dtype() != output.dtype()) return wrong("its value has another type");
  if (compute.axes.size() != output.rank()) return wrong("it has an axis per dim of its output");
  for (const auto* axes : {&compute.axes, &compute.reduce}) {
    for (const Axis& axis : *axes) {
      if (axis.extent.dtype() != DType::kI64) return wrong("an extent is i64");
    }
  }
  return {};
}

Status Parser::strides(TensorIntrin& intrin) {
  do {
    BYOC_TRY_STATUS(in_.expect("["));
    std::vector<int64_t>& place = intrin.strides.emplace_back();
    while (!in_.take("]")) {
      if (!place.empty()) BYOC_TRY_STATUS(in_.expect(","));
      if (in_.take_word("any")) {
        place.push_back(TensorIntrin::kAnyStride);
        continue;
      }
      BYOC_TRY(int64_t stride, in_.integer());
      place.push_back(stride);
    }
  } while (in_.take(","));
  return {};
}

// Parses i < 4, j < n.
Result<std::vector<Axis>> Parser::axes() {
  std::vector<Axis> out;
  do {
    BYOC_TRY(std::string name, in_.name("an axis"));
    BYOC_TRY_STATUS(in_.expect("<"));
    BYOC_TRY(Expr extent, expression());
    Var var(name);
    vars_.add(name, {Expr(var)});
    out.push_back({var, extent});
  } while (in_.take(","));
  return out;
}

// Parses for i < 4 over r < k: value combine (a, b) to a + b from 0.0; the last part is left out
// when the combiner is known.
Result<Compute> Parser::compute(bool has_combiner) {
  Compute out;
  if (!in_.take_word("for")) return in_.expected("'for'");
  if (in_.word() != "over" && !in_.is_at(":")) {
    BYOC_TRY(out.axes, axes());
  }
  if (in_.take_word("over")) {
    BYOC_TRY(out.reduce, axes());
  }
  BYOC_TRY_STATUS(in_.expect(":"));
  short_.clear();
  while (is_at_definition()) BYOC_TRY_STATUS(short_name());
  BYOC_TRY(out.values, list_of_values());
  short_.clear();
  if (!out.reduce.empty() && !has_combiner) BYOC_TRY_STATUS(combiner(out));
  return out;
}

// Returns true at "$0 =".
bool Parser::is_at_definition() {
  if (!in_.is_at("$")) return false;
  Reader ahead = in_;
  ahead.advance(1);
  ahead.advance(ahead.number_length());
  return ahead.is_at("=") && !ahead.is_at("==");
}

Result<Exprs> Parser::list_of_values() {
  Exprs out;
  do {
    BYOC_TRY(Expr value, expression());
    out.push_back(std::move(value));
  } while (in_.take(","));
  return out;
}

Status Parser::combiner(Compute& compute) {
  const size_t at = (in_.rest(), in_.at());
  Combiner& out = compute.combiner;
  if (!in_.take_word("combine")) return in_.expected("'combine'");
  BYOC_TRY_STATUS(in_.expect("("));
  for (std::vector<Var>* side : {&out.lhs, &out.rhs}) {
    for (const Expr& value : compute.values) {
      if (!out.lhs.empty()) BYOC_TRY_STATUS(in_.expect(","));
      BYOC_TRY(std::string name, in_.name("a value to combine"));
      side->emplace_back(name, value.dtype());
      vars_.add(name, {Expr(side->back())});
    }
  }
  BYOC_TRY_STATUS(in_.expect(")"));
  if (!in_.take_word("to")) return in_.expected("'to'");
  BYOC_TRY(out.result, list_of_values());
  if (!in_.take_word("from")) return in_.expected("'from'");
  BYOC_TRY(out.identity, list_of_values());
  const size_t n = compute.values.size();
  bool fits = out.result.size() == n && out.identity.size() == n;
  for (size_t k = 0; fits && k < n; ++k) {
    const DType dtype = compute.values[k].dtype();
    fits = out.result[k].dtype() == dtype && out.identity[k].dtype() == dtype;
  }
  if (fits) return {};
  return in_.wrong(at, n == 1 ? cat("the combiner is not of ", compute.values[0].dtype())
                              : cat("the combiner is not of the ", n, " values"));
}

Result<LoopFunction> parse_loops(std::string_view text, size_t& at) {
  Parser parser(text, at);
  BYOC_TRY(LoopFunction out, parser.function());
  at = parser.at();
  return out;
}

Result<LoopFunction> parse_loops(std::string_view text) {
  size_t at = 0;
  BYOC_TRY(LoopFunction out, parse_loops(text, at));
  Reader rest(text, at);
  if (!rest.rest().empty()) return rest.expected("the end of the text");
  return out;
}

}  // namespace byoc::te
