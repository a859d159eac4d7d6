// SPDX-License-Identifier: Apache-2.0
// A library whose functions have the fault that BYOC_TEST_FAULT names when it is loaded.
#include <cmath>
#include <cstdlib>
#include <stdexcept>

#include "byoc/extend/library.h"
#include "byoc/te/tensor.h"

namespace {

using namespace byoc;
using Tensors = Result<std::vector<te::Tensor>>;

bool is(std::string_view fault) {
  const char* given = std::getenv("BYOC_TEST_FAULT");
  return given != nullptr && fault == given;
}

Tensors compute(te::Builder& b, std::span<const te::Tensor> in, Types, const Attrs&) {
  if (is("compute_throws")) throw std::runtime_error("planted");
  if (is("compute_none")) return std::vector<te::Tensor>{};
  auto one = [](DType dtype) { return [=](const te::Indices&) { return te::constant(dtype, 1); }; };
  if (is("compute_shape")) return std::vector{b.compute("y", {te::Expr(7)}, one(DType::kF32))};
  if (is("compute_dtype")) return std::vector{b.compute("y", in[0].shape(), one(DType::kF64))};
  const int64_t shift = is("compute_reads_outside") ? 1 : 0;
  return std::vector{b.compute("y", in[0].shape(), [&](const te::Indices& i) {
    te::Indices at = i;
    at.back() = at.back() + te::Expr(shift);
    return in[0](at);
  })};
}

OpDef same() {
  OpDef op;
  op.name = "test_same";
  op.kind = FusionKind::kOpaque;
  op.inputs = {{"x", "f32"}};
  op.infer = [](Types in, const Attrs&) -> Result<std::vector<TensorType>> {
    if (is("infer_throws")) throw std::runtime_error("planted");
    if (is("infer_none")) return std::vector<TensorType>{};
    return std::vector{*in[0]};
  };
  op.reference = [](Types in, Types, const Attrs&) -> Result<RefKernel> {
    BYOC_TRY(int64_t elements, num_elements(in[0]->shape));
    return RefKernel([elements](const void* const* x, void* const* y) {
      if (is("reference_throws")) throw std::runtime_error("planted");
      for (int64_t i = 0; i < elements; ++i)
        static_cast<float*>(y[0])[i] = static_cast<const float*>(x[0])[i];
    });
  };
  if (!is("no_compute")) op.compute = ComputeFn(compute);
  return op;
}

Result<IRModule> pass(IRModule module, const PassContext&, const PassArgs&) {
  if (is("pass_throws")) throw std::runtime_error("planted");
  Function& entry = module.function(module.entry);
  if (is("pass_breaks"))
    for (ValueId& value : entry.operands) value.node = 100000;
  if (is("pass_types"))
    entry.nodes.back().types = TypeIds(TypeId(TensorType{DType::kF64, {Dim(9)}}));
  return module;
}

double cost(const extend::Candidate&) {
  if (is("cost_throws")) throw std::runtime_error("planted");
  return is("cost_nan") ? NAN : -1;
}

std::vector<tune::Point> search(const tune::Space& space, std::span<const tune::TriedPoint>,
                                size_t) {
  tune::Point point;
  for (const tune::Knob& knob : space.knobs) point[knob.name] = knob.values[0];
  if (is("search_value")) point.begin()->second = "wrong";
  if (is("search_few")) point.erase(point.begin());
  if (is("search_name")) point["nothing"] = "1";
  return {point};
}

std::vector<uint8_t> solve(const placement::Problem& problem) {
  return std::vector<uint8_t>(is("solver_few") ? 0 : problem.size(), 200);
}

}  // namespace

BYOC_LIBRARY(library) {
  library.ops.push_back(same());
  library.add_pass({is("pass_name") ? "a pass=x" : "planted", "", "", pass}, "fold_constants");
  library.onnx.push_back({"org.example", "Same", "test_same"});
  if (is("onnx_twice")) library.onnx.push_back({"org.example", "Same", "relu"});
  if (is("cost_throws") || is("cost_nan") || is("cost_negative"))
    library.hooks.placement_cost = cost;
  if (is("solver_few") || is("solver_far")) library.hooks.placement_solver = solve;
  if (is("search_value") || is("search_few") || is("search_name"))
    library.hooks.tuner_search = search;
  if (is("judge_throws"))
    library.hooks.region_judge = [](std::string_view, const Function&) -> std::string {
      throw std::runtime_error("planted");
    };
}
