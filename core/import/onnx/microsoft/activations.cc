// SPDX-License-Identifier: Apache-2.0
// Activations of com.microsoft: Gelu, FastGelu, BiasGelu, QuickGelu.
#include "core/import/onnx/microsoft/activations.h"

#include "core/import/onnx/rows/steps.h"

namespace byoc::onnx_import {
namespace {

struct Activation {
  const char* name;
  const char* op;
  std::vector<std::pair<const char*, double>> params;  // attributes of the op, and their defaults
};

const std::vector<Activation>& fused_activations() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  static const std::vector<Activation> all = {
      {"Clip", "clip", {{"min", -kInfinity}, {"max", kInfinity}}},
      {"Elu", "elu", {{"alpha", 1}}},
      {"HardSigmoid", "hard_sigmoid", {{"alpha", 0.2}, {"beta", 0.5}}},
      {"HardSwish", "hard_swish", {}},
      {"LeakyRelu", "leaky_relu", {{"alpha", 0.01}}},
      {"Relu", "relu", {}},
      {"Sigmoid", "sigmoid", {}},
      {"Softplus", "softplus", {}},
      {"Softsign", "softsign", {}},
      {"Tanh", "tanh", {}},
      {"ThresholdedRelu", "thresholded_relu", {{"alpha", 1}}},
  };
  return all;
}

Converted biased_gelu(Graph& graph, const char* approximate) {
  ValueId x = graph.input(0);
  if (Value bias = graph.optional_input(1)) x = add(graph, x, *bias);
  return std::vector{graph.call("gelu", {x}, {{"approximate", approximate}})};
}

Converted exact_gelu(Graph& graph, const OnnxNode&) { return biased_gelu(graph, "none"); }
Converted fast_gelu(Graph& graph, const OnnxNode&) { return biased_gelu(graph, "tanh"); }

Converted quick_gelu(Graph& graph, const OnnxNode& node) {
  return std::vector{graph.call("swish", {graph.input(0)}, {{"alpha", node.f("alpha", 1.702)}})};
}

constexpr Row kActivationsRows[] = {
    {"BiasGelu", 1, 1, exact_gelu},
    {"FastGelu", 1, 1, fast_gelu},
    {"Gelu", 1, 1, exact_gelu},
    {"QuickGelu", 1, 1, quick_gelu},
};

}  // namespace

Result<ValueId> activated(Graph& graph, ValueId x, const std::string& name,
                          const ActivationParams& params) {
  if (name.empty()) return x;
  for (const Activation& activation : fused_activations()) {
    if (name != activation.name) continue;
    Attrs attrs;
    for (size_t k = 0; k < activation.params.size(); ++k) {
      const auto& [attr, fallback] = activation.params[k];
      attrs.set(attr, k < params.size() ? params[k].value_or(fallback) : fallback);
    }
    return graph.call(activation.op, {x}, attrs);
  }
  return unimplemented(cat("its activation \"", name, "\" is not supported"));
}

std::span<const Row> microsoft_activations_rows() { return kActivationsRows; }

}  // namespace byoc::onnx_import
