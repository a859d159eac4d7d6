// SPDX-License-Identifier: Apache-2.0
// The plugin "te": regions as tensor expressions, in their default loops, run by the
// interpreter of loops. It is slow; with it whole models go through translation and lowering
// without a code generator.
#include "byoc/plugin/sdk.h"
#include "byoc/te/evaluate.h"
#include "byoc/text/graph_json.h"
#include "byoc/translate/translate.h"

namespace byoc {
namespace {

// Reads a graph; throws the reason when it has no tensor expression. Constants are its last inputs.
te::LoopFunction read(const sdk::Graph& graph) {
  Result<IRModule> module = read_graph_json(graph.json, all_ops(), nullptr);
  if (!module.ok()) throw sdk::Error(BYOC_BAD_GRAPH, module.status().message());
  Result<te::Dag> dag =
      te::translate_to_te(*module, module->function(module->entry), te::Target{}, te::by_level());
  if (!dag.ok()) throw sdk::Declined(dag.status().message());
  Result<te::LoopFunction> loops = te::lower(te::Schedule(*std::move(dag)));
  if (!loops.ok()) throw sdk::Error(BYOC_INTERNAL, loops.status().message());
  return *std::move(loops);
}

class Kernel : public sdk::Kernel {
 public:
  Kernel(te::LoopFunction loops, const sdk::Graph& graph, sdk::Constants& constants)
      : loops_(std::move(loops)), n_in_(graph.inputs.size()), n_out_(graph.outputs.size()) {
    for (size_t k = 0; k < constants.size(); ++k) held_.push_back(constants.keep(k));
  }
  sdk::KernelInfo info() const override { return {}; }
  void run(const sdk::Call& call) const override {
    std::vector<const void*> in;
    std::vector<void*> out;
    for (size_t k = 0; k < n_in_; ++k) in.push_back(call.in_data<char>(k));
    for (const sdk::Held& held : held_) in.push_back(held.data<char>());
    for (size_t k = 0; k < n_out_; ++k) out.push_back(call.out_data<char>(k));
    Status status = te::evaluate(loops_, in, out);
    if (!status.ok()) throw sdk::Error(BYOC_INTERNAL, status.to_string());
  }

 private:
  te::LoopFunction loops_;
  size_t n_in_, n_out_;
  std::vector<sdk::Held> held_;
};

class Expressions : public sdk::Plugin {
 public:
  std::vector<sdk::Pattern> patterns() const override { return {}; }
  sdk::Verdict judge(const sdk::Graph& graph) const override {
    read(graph);  // its exception becomes the reason of a refusal
    return sdk::Verdict::yes();
  }
  std::unique_ptr<sdk::Kernel> compile(sdk::Function& function) override {
    return std::make_unique<Kernel>(read(function.graph), function.graph, function.constants);
  }
};

}  // namespace
}  // namespace byoc

BYOC_PLUGIN(byoc::Expressions, "te", "1.0.0", .flags = BYOC_PLUGIN_DEFAULT)
