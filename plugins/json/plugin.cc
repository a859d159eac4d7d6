// The json plugin: the reference. It takes every op that has a reference kernel, keeps the graph's JSON as its
// artifact, and runs the kernels one after another. The smallest whole plugin, and the oracle of all tests.
#include "byoc/ir/graph_json.h"
#include "byoc/plugin/sdk.h"
#include "plugins/json/interpreter.h"

namespace byoc::json_plugin {
namespace {

Result<Interpreter> read(const sdk::Graph& graph) {
  BYOC_TRY(IRModule module, read_graph_json(graph.json, all_ops(), nullptr));
  return Interpreter::make(module, static_cast<uint32_t>(graph.inputs.size()));
}

class JsonKernel : public sdk::Kernel {
 public:
  JsonKernel(Interpreter interpreter, const sdk::Graph& graph, sdk::Constants& constants)
      : interpreter_(std::move(interpreter)), n_in_(graph.inputs.size()), n_out_(graph.outputs.size()) {
    for (size_t k = 0; k < constants.size(); ++k) {
      held_.push_back(constants.keep(k));
      constants_.push_back(held_.back().data<char>());
    }
  }
  sdk::KernelInfo info() const override {
    sdk::KernelInfo out;
    out.workspace_bytes = interpreter_.workspace_bytes() + (n_in_ + n_out_) * sizeof(void*);
    out.implementation = "reference";
    return out;
  }
  /// The addresses of the arguments stand behind the interpreter's own part of the workspace.
  void run(const sdk::Call& call) const override {
    char* workspace = static_cast<char*>(call.workspace());
    void** in = reinterpret_cast<void**>(workspace + interpreter_.workspace_bytes());
    void** out = in + n_in_;
    for (size_t k = 0; k < n_in_; ++k) in[k] = const_cast<char*>(call.in_data<char>(k));
    for (size_t k = 0; k < n_out_; ++k) out[k] = call.out_data<char>(k);
    interpreter_.run(in, constants_.data(), out, workspace);
  }

 private:
  Interpreter interpreter_;
  size_t n_in_, n_out_;
  std::vector<sdk::Held> held_;
  std::vector<const void*> constants_;
};

class JsonPlugin : public sdk::Plugin {
 public:
  std::vector<sdk::Pattern> patterns() const override { return {}; }  // judge is asked about every op
  sdk::Verdict judge(const sdk::Graph& graph) const override {
    Result<Interpreter> interpreter = read(graph);
    return interpreter.ok() ? sdk::Verdict::yes() : sdk::Verdict::no(interpreter.status().message());
  }
  std::unique_ptr<sdk::Kernel> compile(sdk::Function& function) override {
    Result<Interpreter> interpreter = read(function.graph);
    if (!interpreter.ok()) throw sdk::Declined(interpreter.status().message());
    return std::make_unique<JsonKernel>(*std::move(interpreter), function.graph, function.constants);
  }
};

}  // namespace
}  // namespace byoc::json_plugin

BYOC_PLUGIN(byoc::json_plugin::JsonPlugin, "json", "0.1.0", .flags = BYOC_PLUGIN_DEFAULT, .priority = 10)
