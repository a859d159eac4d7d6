// SPDX-License-Identifier: Apache-2.0
// A default codegen of relu and exp on f32, which compiles a relu and the exp that reads it to one
// kernel. It breaks the promise about groups that the_fault names, and keeps all others.
#include <byoc/plugin/sdk.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "faults/fault.h"

namespace {
using namespace byoc::sdk;

bool is_taken(const Graph& graph, const Node& node) {
  return (node.op == "relu" || node.op == "exp") && node.attrs.unknown({}).empty() &&
         graph.type(node).dtype == DType::kF32 && graph.type(node).is_static();
}

bool is_pair(const Graph& graph, size_t exp) {
  const Node& node = graph.nodes[exp];
  return node.op == "exp" && node.args[0].kind == Operand::kNode &&
         graph.nodes[node.args[0].index].op == "relu";
}
bool has_pair(const Graph& graph) {
  for (size_t k = 0; k < graph.nodes.size(); ++k) {
    if (is_pair(graph, k)) return true;
  }
  return false;
}

/// Keeps the value of each node in the workspace.
class PairsKernel : public Kernel {
 public:
  explicit PairsKernel(const Graph& graph) : outputs_(graph.outputs) {
    for (size_t k = 0; k < graph.nodes.size(); ++k) {
      const Node& node = graph.nodes[k];
      if (!is_taken(graph, node)) throw Declined("not relu or exp", static_cast<int64_t>(k));
      const auto elements = static_cast<uint64_t>(graph.type(node).elements());
      steps_.push_back({node.op == "exp", is_pair(graph, k), node.args[0], elements, bytes_});
      bytes_ += (elements * sizeof(float) + 63) / 64 * 64;
    }
    for (const Operand& output : outputs_) output_bytes_.push_back(graph.type(output).bytes());
  }
  KernelInfo info() const override { return {.workspace_bytes = bytes_}; }
  void run(const Call& call) const override {
    for (const Step& step : steps_) {
      const float* x = source(call, step.from);
      float* y = result(call, step);
      for (uint64_t k = 0; k < step.elements; ++k)
        y[k] = step.is_exp ? std::exp(x[k]) : x[k] < 0 ? 0 : x[k];
      if (the_fault == kValues && step.is_pair && step.elements > 0) y[0] += 1;
    }
    for (size_t k = 0; k < outputs_.size(); ++k) {
      if (output_bytes_[k] > 0)
        std::memcpy(call.out_data<float>(k), source(call, outputs_[k]), output_bytes_[k]);
    }
  }

 private:
  struct Step {
    bool is_exp, is_pair;
    Operand from;
    uint64_t elements, offset;
  };
  static float* result(const Call& call, const Step& step) {
    return reinterpret_cast<float*>(static_cast<char*>(call.workspace()) + step.offset);
  }
  const float* source(const Call& call, const Operand& from) const {
    return from.kind == Operand::kInput ? call.in_data<float>(from.index)
                                        : result(call, steps_[from.index]);
  }
  std::vector<Step> steps_;
  std::vector<Operand> outputs_;
  std::vector<uint64_t> output_bytes_;
  uint64_t bytes_ = 0;
};

class Pairs : public Plugin {
  std::vector<Pattern> patterns() const override { return {}; }
  Verdict judge(const Graph& match) const override {
    return is_taken(match, match.nodes.at(0)) ? Verdict::yes() : Verdict::no("not relu or exp");
  }
  std::vector<Group> partition(CompileRequest& request) override {
    static uint64_t calls = 0;
    ++calls;
    const Graph& graph = request.functions[0].graph;
    std::vector<Group> out;
    for (size_t k = 0; k < graph.nodes.size(); ++k) {
      if (!is_pair(graph, k)) continue;
      out.push_back({"pair", {graph.nodes[k].args[0].index, k}});
      if (the_fault == kUnreadable) out.back().nodes.push_back(graph.nodes.size());
      if (the_fault == kOverlap) out.push_back(out.back());
      if (the_fault == kRepeat) out.back().name += std::to_string(calls);
      if (the_fault == kNames) out.back().name += graph.nodes[k].loc;
    }
    return out;
  }
  std::unique_ptr<Kernel> compile(Function& function) override {
    if (function.graph.constants.size() > 0) throw Declined("folds no constants", 0);
    if (the_fault == kDeclines && has_pair(function.graph))
      throw Declined("two ops are too many", 0);
    return std::make_unique<PairsKernel>(function.graph);
  }
};

}  // namespace

BYOC_PLUGIN(Pairs, "pairs_of_ops", "1.0.0", .flags = BYOC_PLUGIN_DEFAULT)
