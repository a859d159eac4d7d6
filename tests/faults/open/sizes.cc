// SPDX-License-Identifier: Apache-2.0
// A plugin for relu and negative of f32, also of open sizes. It breaks the promise about open sizes
// that the_fault names, and keeps all others.
#include <byoc/plugin/sdk.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "faults/fault.h"

namespace {
using namespace byoc::sdk;

bool is_taken(const Graph& graph, const Node& node) {
  return (node.op == "relu" || node.op == "negative") && node.attrs.unknown({}).empty() &&
         graph.type(node).dtype == DType::kF32 && !graph.type(node).is_counted();
}

class SizesKernel : public Kernel {
 public:
  explicit SizesKernel(const Graph& graph)
      : graph_(graph), is_relu_(graph.nodes.at(0).op == "relu") {}
  void run(const Call& call) const override {
    int64_t elements = elements_of(call);
    if (the_fault == kShared) {
      shared_ = elements;
      if (!graph_.sizes.empty()) std::this_thread::sleep_for(std::chrono::microseconds(200));
      elements = std::min<int64_t>(elements, shared_);
    }
    const float* x = call.in_data<float>(0);
    float* y = call.out_data<float>(0);
    for (int64_t k = 0; k < elements; ++k) y[k] = !is_relu_ ? -x[k] : x[k] < 0 ? 0 : x[k];
  }

 private:
  int64_t elements_of(const Call& call) const {
    std::vector<int64_t> sizes;
    for (size_t k = 0; k < graph_.size_ranges.size(); ++k) {
      const SizeRange& range = graph_.size_ranges[k];
      sizes.push_back(the_fault == kBounds  ? range.max
                      : the_fault == kLeast ? range.min
                                            : call.size(k));
    }
    return at_sizes(graph_, sizes).output_type(0).elements();
  }
  Graph graph_;
  bool is_relu_;
  mutable std::atomic<int64_t> shared_ = 0;
};

class SizesPlugin : public Plugin {
  std::vector<Pattern> patterns() const override { return {}; }
  Verdict judge(const Graph& match) const override {
    return is_taken(match, match.nodes.at(0)) ? Verdict::yes()
                                              : Verdict::no("not relu or negative");
  }
  std::unique_ptr<Kernel> compile(Function& function) override {
    const Graph& graph = function.graph;
    if (graph.nodes.size() != 1 || !graph.constants.empty() || !is_taken(graph, graph.nodes[0]))
      throw Declined("more than one op, another one, or a constant", 0);
    if (the_fault == kRefuses && !graph.sizes.empty()) throw Error(BYOC_INTERNAL, "needs numbers");
    return std::make_unique<SizesKernel>(graph);
  }
};

}  // namespace

BYOC_PLUGIN(SizesPlugin, "sizes", "1.0.0", .flags = BYOC_PLUGIN_OPEN_SIZES)
