// A whole plugin: relu, and add of equal shapes, on f32, each alone or as add followed by relu.
// Copy this folder, rename the id, and go on from here.
#include <byoc/plugin/sdk.h>

namespace {
using namespace byoc::sdk;

/// One elementwise step over any number of elements. `b` is null for ops of one operand.
using Step = void (*)(const float* a, const float* b, float* out, uint64_t lo, uint64_t hi);

void relu(const float* a, const float*, float* out, uint64_t lo, uint64_t hi) {
  for (uint64_t k = lo; k < hi; ++k) out[k] = a[k] > 0 ? a[k] : 0;
}
void add(const float* a, const float* b, float* out, uint64_t lo, uint64_t hi) {
  for (uint64_t k = lo; k < hi; ++k) out[k] = a[k] + b[k];
}
void add_relu(const float* a, const float* b, float* out, uint64_t lo, uint64_t hi) {
  add(a, b, out, lo, hi);
  relu(out, nullptr, out, lo, hi);
}

/// What a node means: an op by its name, a composite by its pattern.
Step step_of(const Graph& graph, const Node& node) {
  if (const Body* body = graph.callee(node))
    return body->pattern == "example.add_relu" ? add_relu : nullptr;
  if (node.op == "relu") return relu;
  return node.op == "add" ? add : nullptr;
}

/// Where a value is during a run: an argument of the call, a constant, or the workspace.
struct Place {
  Operand::Kind kind;
  size_t index;  // kNode: byte offset in the workspace
};

/// A region as a list of steps. Everything is decided here, run only walks the list.
class ElementwiseKernel : public Kernel {
 public:
  explicit ElementwiseKernel(Function& function) : graph_(function.graph) {
    for (size_t k = 0; k < graph_.constants.size(); ++k)
      constants_.push_back(function.constants.keep(k));
    for (const Node& node : graph_.nodes) {
      if (!step_of(graph_, node))
        throw Declined("cannot run \"" + node.op + "\"", &node - graph_.nodes.data());
      offsets_.push_back(workspace_bytes_);
      workspace_bytes_ += (graph_.type(node).bytes() + 63) / 64 * 64;
    }
  }
  KernelInfo info() const override {
    return {.workspace_bytes = workspace_bytes_, .implementation = "plain loops"};
  }
  void run(const Call& call) const override {
    for (const Node& node : graph_.nodes) {
      const float* a = source(call, node.args[0]);
      const float* b = node.args.size() > 1 ? source(call, node.args[1]) : nullptr;
      float* out = target(call, &node - graph_.nodes.data());
      Step step = step_of(graph_, node);
      auto part = [&](uint64_t lo, uint64_t hi, uint32_t) { step(a, b, out, lo, hi); };
      host().parallel_for(graph_.type(node).elements(), 16384, part);
    }
    for (size_t k = 0; k < graph_.outputs.size(); ++k) {
      std::memcpy(call.out_data<float>(k), source(call, graph_.outputs[k]),
                  graph_.output_type(k).bytes());
    }
  }

 private:
  const float* source(const Call& call, const Operand& operand) const {
    if (operand.kind == Operand::kInput) return call.in_data<float>(operand.index);
    if (operand.kind == Operand::kConstant) return constants_[operand.index].data<float>();
    return target(call, operand.index);
  }
  float* target(const Call& call, size_t node) const {
    return reinterpret_cast<float*>(static_cast<char*>(call.workspace()) + offsets_[node]);
  }
  Graph graph_;
  std::vector<Held> constants_;    // the host's memory, not a copy
  std::vector<uint64_t> offsets_;  // of node results in the workspace
  uint64_t workspace_bytes_ = 0;
};

class Example : public Plugin {
  std::vector<Pattern> patterns() const override {
    return {
        {"relu", op("relu").dtype({"f32"})},
        {"add", op("add").dtype({"f32"})},
        {"example.add_relu",
         op("relu", {op("add", {any("a"), any("b")}).dtype({"f32"})}).dtype({"f32"})},
    };
  }
  Verdict judge(const Graph& match) const override {
    const Node& node = match.nodes.at(0);
    for (const Operand& operand : node.args) {
      const Type& type = match.type(operand);
      if (!type.is_static())
        return Verdict::no("needs shapes that are numbers, has " + type.text());
      if (type.dims != match.type(node).dims) {
        return Verdict::no("no broadcasting: " + type.text() + " for a result of " +
                           match.type(node).text());
      }
    }
    return Verdict::yes({.est_ns = static_cast<uint64_t>(match.type(node).elements())});
  }
  std::unique_ptr<Kernel> compile(Function& function) override {
    return std::make_unique<ElementwiseKernel>(function);
  }
};

}  // namespace

BYOC_PLUGIN(Example, "example", "0.1.0", .priority = 1)
