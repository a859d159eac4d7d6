// SPDX-License-Identifier: Apache-2.0
// The json plugin: the reference. It takes every op that has a reference kernel, keeps the graph's
// JSON as its artifact, and runs the kernels one after another. The smallest whole plugin, and the
// oracle of all tests.
#include <algorithm>

#include "byoc/ir/intern.h"
#include "byoc/op/op.h"
#include "byoc/plugin/sdk.h"
#include "byoc/te/evaluate.h"
#include "byoc/te/module.h"
#include "byoc/text/graph_json.h"
#include "plugins/json/interpreter.h"

namespace byoc::json_plugin {
namespace {

// The share of the machine's peaks that reference kernels reach: measured with byoc bench for
// convolutions, products, elementwise ops, reductions and softmax, one thread of a Sapphire Rapids.
// They reach 0.2 to 4 % of the arithmetic and 1 to 8 % of the second cache's bandwidth.
constexpr sdk::Share kReference{0.01, 0.05};

// Returns the operations of all ops, and the bytes of their operands and results.
sdk::Work work_of(const Function& function) {
  sdk::Work work;
  auto add_bytes = [&](TypeId type) {
    const Result<int64_t> bytes = size_bytes(*type);
    work.bytes += bytes.ok() ? static_cast<double>(*bytes) : 0;
  };
  for (const Node& node : function.nodes) {
    auto* call = std::get_if<Call>(&node.kind);
    if (call == nullptr) continue;
    std::vector<TypeId> in, out;
    for (ValueId arg : function.args(node)) in.push_back(function.type(arg));
    for (size_t k = 0; k < node.types.size(); ++k) out.push_back(node.types[k]);
    for (TypeId type : in) add_bytes(type);
    for (TypeId type : out) add_bytes(type);
    work.flops += flops(*call->op, in, out, *call->attrs);
  }
  return work;
}

// Reads a graph; throws the reason, with the node, when some op cannot be interpreted. `work`: what
// it has to do, unless null.
Interpreter read(const sdk::Graph& graph, sdk::Work* work = nullptr) {
  auto arena = std::make_shared<InternArena>();
  InternScope scope(*arena);
  Result<IRModule> module = read_graph_json(graph.json, all_ops(), nullptr);
  if (!module.ok()) throw sdk::Error(BYOC_BAD_GRAPH, module.status().message());
  if (work != nullptr) *work = work_of(module->function(module->entry));
  int64_t node = -1;
  auto interpreter =
      Interpreter::make(*module, static_cast<uint32_t>(graph.inputs.size()), arena, node);
  if (!interpreter.ok()) throw sdk::Declined(interpreter.status().message(), node);
  return *std::move(interpreter);
}

// Reads the loops of a graph that is a loop function.
te::LoopFunction read_loops(const sdk::Graph& graph) {
  InternArena arena;
  InternScope scope(arena);
  Result<IRModule> module = read_graph_json(graph.json, all_ops(), nullptr);
  if (!module.ok()) throw sdk::Error(BYOC_BAD_GRAPH, module.status().message());
  auto loops = te::loops_of(module->function(module->entry), graph.symbol);
  if (!loops.ok()) throw sdk::Error(BYOC_BAD_GRAPH, loops.status().message());
  return *std::move(loops);
}

// Runs loops one element at a time, with an error where an index leaves its tensor.
class LoopKernel : public sdk::Kernel {
 public:
  /// `sizes`: the names of a call's sizes, in order.
  LoopKernel(te::LoopFunction loops, std::vector<std::string> sizes)
      : loops_(std::move(loops)), sizes_(std::move(sizes)) {}
  sdk::KernelInfo info() const override {
    sdk::KernelInfo out;
    out.implementation = "reference loops";
    return out;
  }
  /// Runs the kernel. Allocates, as the interpreter numbers the statements anew.
  void run(const sdk::Call& call) const override {
    std::vector<const void*> in;
    std::vector<void*> out;
    for (size_t k = 0; k < loops_.inputs.size(); ++k) in.push_back(call.in_data<char>(k));
    for (size_t k = 0; k < loops_.outputs.size(); ++k) out.push_back(call.out_data<char>(k));
    te::Bindings sizes;
    for (const te::Var& size : loops_.sizes) {
      const auto at = std::ranges::find(sizes_, size.name());
      if (at != sizes_.end())  // else the interpreter names the variable
        sizes.emplace_back(size, call.size(static_cast<size_t>(at - sizes_.begin())));
    }
    Status status = te::evaluate(loops_, in, out, sizes);
    if (!status.ok())
      throw sdk::Error(static_cast<uint32_t>(status.code()),
                       cat(status.where(), ": ", status.message()));
  }

 private:
  te::LoopFunction loops_;
  std::vector<std::string> sizes_;
};

class JsonKernel : public sdk::Kernel {
 public:
  JsonKernel(Interpreter interpreter, const sdk::Graph& graph, sdk::Constants& constants)
      : interpreter_(std::move(interpreter)),
        n_in_(graph.inputs.size()),
        n_out_(graph.outputs.size()),
        n_sizes_(graph.sizes.size()) {
    for (size_t k = 0; k < n_out_; ++k)
      gives_counted_ = gives_counted_ || graph.output_type(k).is_counted();
    std::vector<bool> used = interpreter_.constants_used(constants.size());
    for (size_t k = 0; k < constants.size(); ++k) {
      held_.push_back(used[k] ? constants.keep(k) : sdk::Held());
      constants_.push_back(used[k] ? held_.back().data<char>() : nullptr);
    }
  }
  sdk::KernelInfo info() const override {
    sdk::KernelInfo out;
    out.workspace_bytes = interpreter_.workspace_bytes() + (n_in_ + n_out_) * sizeof(void*);
    out.implementation = "reference";
    if (interpreter_.is_counted()) out.flags |= BYOC_KERNEL_MAY_ALLOC;
    if (gives_counted_) out.flags |= BYOC_KERNEL_OUT_SHAPES;
    return out;
  }
  /// Runs the kernel. The addresses of the arguments come after the interpreter's own part
  /// of the workspace.
  void run(const sdk::Call& call) const override {
    char* workspace = static_cast<char*>(call.workspace());
    void** in = reinterpret_cast<void**>(workspace + interpreter_.workspace_bytes());
    void** out = in + n_in_;
    for (size_t k = 0; k < n_in_; ++k) in[k] = const_cast<char*>(call.in_data<char>(k));
    for (size_t k = 0; k < n_out_; ++k) out[k] = call.out_data<char>(k);
    int64_t node = -1;
    Status status = interpreter_.is_counted()
                        ? run_counted(call, in, out, node)
                        : interpreter_.run(in, constants_.data(), out, workspace, node);
    if (!status.ok())
      throw sdk::Error(static_cast<uint32_t>(status.code()), status.message(), node);
  }

 private:
  // Passes the dims of the inputs on, and those of the outputs back.
  Status run_counted(const sdk::Call& call, void** in, void** out, int64_t& node) const {
    std::vector<Shape> in_dims, out_dims;
    std::vector<int64_t> sizes;
    for (size_t k = 0; k < n_sizes_; ++k) sizes.push_back(call.size(k));
    for (size_t k = 0; k < n_in_; ++k)
      in_dims.push_back(make_shape({call.in(k).shape, static_cast<size_t>(call.in(k).ndim)}));
    BYOC_TRY_STATUS(interpreter_.run_counted(in, constants_.data(), out, call.workspace(), sizes,
                                             in_dims, out_dims, node));
    for (size_t k = 0; k < n_out_; ++k) {
      int64_t* dims = call.out_shape(k);
      for (Dim dim : dims != nullptr ? out_dims[k] : Shape()) *dims++ = dim.extent();
    }
    return {};
  }

  Interpreter interpreter_;
  size_t n_in_, n_out_, n_sizes_;
  bool gives_counted_ = false;
  std::vector<sdk::Held> held_;
  std::vector<const void*> constants_;
};

class JsonPlugin : public sdk::Plugin {
 public:
  std::vector<sdk::Pattern> patterns() const override {
    return {};
  }  // the host calls judge for every op
  sdk::Verdict judge(const sdk::Graph& graph) const override {
    read(graph);  // its exception becomes the reason of a refusal
    return sdk::Verdict::yes();
  }
  sdk::Verdict judge_on(const sdk::Graph& graph, const sdk::Machine& machine) const override {
    sdk::Work work;
    read(graph, &work);
    return sdk::Verdict::yes({.est_ns = sdk::est_ns(machine.run_ns(work, kReference))});
  }
  std::unique_ptr<sdk::Kernel> compile(sdk::Function& function) override {
    if (!function.graph.loops.empty())
      return std::make_unique<LoopKernel>(read_loops(function.graph), function.graph.sizes);
    return std::make_unique<JsonKernel>(read(function.graph), function.graph, function.constants);
  }
};

}  // namespace
}  // namespace byoc::json_plugin

BYOC_PLUGIN(byoc::json_plugin::JsonPlugin, "json", "0.1.0",
            .flags = BYOC_PLUGIN_DEFAULT | BYOC_PLUGIN_LOOPS | BYOC_PLUGIN_COUNTED |
                     BYOC_PLUGIN_OPEN_SIZES,
            .priority = 10)
