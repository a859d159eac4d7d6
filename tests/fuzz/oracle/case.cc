// SPDX-License-Identifier: Apache-2.0
#include "case.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "byoc/base/check.h"
#include "runtime/base/element_type.h"

namespace byoc::fuzz {
namespace {

template <class T>
T element(double value) {
  if constexpr (!std::is_integral_v<T>) {
    return static_cast<T>(value);
  } else {
    using Limits = std::numeric_limits<T>;
    if (!(value > static_cast<double>(Limits::lowest()))) return Limits::lowest();
    if (value >= static_cast<double>(Limits::max())) return Limits::max();
    return static_cast<T>(value);
  }
}

}  // namespace

int64_t element_count(TypeId type) {
  Result<int64_t> count = num_elements(type->shape);
  BYOC_CHECK(count.ok(), "a type without a size: ", type);
  return *count;
}

std::vector<double> elements(TypeId type, const Buffer& data) {
  std::vector<double> out(static_cast<size_t>(element_count(type)));
  with_element_type(type->dtype, [&](auto zero) {
    auto* from = reinterpret_cast<const decltype(zero)*>(data.data());
    for (size_t k = 0; k < out.size(); ++k) out[k] = static_cast<double>(from[k]);
  });
  return out;
}

Bytes from_elements(TypeId type, const std::vector<double>& values) {
  return Buffer::make(values.size() * dtype_size(type->dtype), [&](std::byte* to) {
    with_element_type(type->dtype, [&](auto zero) {
      using T = decltype(zero);
      for (size_t k = 0; k < values.size(); ++k) {
        T value = element<T>(values[k]);
        std::memcpy(to + k * sizeof(T), &value, sizeof(T));
      }
    });
  });
}

IRModule to_module(const Case& graph) {
  IRModule module;
  Function& main = module.functions["main"];
  std::vector<ValueId> leaves(graph.leaves.size());
  std::vector<uint32_t> steps(graph.steps.size());
  for (bool constants : {false, true}) {
    for (size_t k = 0; k < graph.leaves.size(); ++k) {
      const Leaf& leaf = graph.leaves[k];
      if (leaf.is_constant != constants) continue;
      leaves[k] = {constants ? main.add_constant(module.add_constant(leaf.data), leaf.type)
                             : main.add_param(leaf.name, leaf.type),
                   0};
    }
  }
  auto value = [&](Ref ref) {
    return ref.is_leaf ? leaves[ref.index] : ValueId{steps[ref.index], ref.output};
  };
  for (size_t k = 0; k < graph.steps.size(); ++k) {
    const Step& step = graph.steps[k];
    std::vector<ValueId> args;
    for (Ref arg : step.args) args.push_back(value(arg));
    steps[k] = main.add_call(step.op, step.attrs, args, step.types, Symbol(step.name));
  }
  for (Ref result : graph.results) main.results.push_back(value(result));
  return module;
}

Result<std::vector<Tensor>> inputs_of(const Case& graph) {
  std::vector<Tensor> out;
  for (const Leaf& leaf : graph.leaves) {
    if (leaf.is_constant) continue;
    BYOC_TRY(Tensor tensor, Tensor::make({leaf.type->dtype, static_extents(leaf.type->shape)}));
    if (leaf.data->size() > 0) std::memcpy(tensor.data(), leaf.data->data(), leaf.data->size());
    out.push_back(std::move(tensor));
  }
  return out;
}

Case without_unused(const Case& graph) {
  std::vector<bool> leaf_used(graph.leaves.size()), step_used(graph.steps.size());
  auto use = [&](Ref ref) { (ref.is_leaf ? leaf_used : step_used)[ref.index] = true; };
  for (Ref result : graph.results) use(result);
  for (size_t k = graph.steps.size(); k-- > 0;) {
    if (!step_used[k]) continue;
    for (Ref arg : graph.steps[k].args) use(arg);
  }
  Case out;
  std::vector<uint32_t> new_leaf(graph.leaves.size()), new_step(graph.steps.size());
  auto moved = [&](Ref ref) {
    return Ref{ref.is_leaf, (ref.is_leaf ? new_leaf : new_step)[ref.index], ref.output};
  };
  for (size_t k = 0; k < graph.leaves.size(); ++k) {
    if (!leaf_used[k]) continue;
    new_leaf[k] = static_cast<uint32_t>(out.leaves.size());
    out.leaves.push_back(graph.leaves[k]);
  }
  for (size_t k = 0; k < graph.steps.size(); ++k) {
    if (!step_used[k]) continue;
    new_step[k] = static_cast<uint32_t>(out.steps.size());
    Step step = graph.steps[k];
    for (Ref& arg : step.args) arg = moved(arg);
    out.steps.push_back(std::move(step));
  }
  for (Ref result : graph.results) out.results.push_back(moved(result));
  return out;
}

Result<Case> with_types(Case graph) {
  for (Step& step : graph.steps) {
    std::vector<TypeId> in;
    for (Ref arg : step.args) {
      if (!arg.is_leaf && arg.output >= graph.steps[arg.index].types.size())
        return invalid("an output no longer exists");
      in.push_back(graph.type(arg));
    }
    BYOC_TRY(step.types, infer_types(*step.op, in, *step.attrs));
  }
  for (Ref result : graph.results) {
    if (!result.is_leaf && result.output >= graph.steps[result.index].types.size())
      return invalid("a result no longer exists");
  }
  return graph;
}

}  // namespace byoc::fuzz
