// SPDX-License-Identifier: Apache-2.0
// A whole plugin: relu, and add without broadcasting, on f32, each alone or as add followed by
// relu. `byoc new-plugin NAME` makes a copy of it under another name to start from.
#include <byoc/plugin/sdk.h>

#include <algorithm>
#include <cstring>

namespace {
using namespace byoc::sdk;

/// Computes out[k] for k in [lo, hi); `b` is null for ops of one operand.
using Loop = void (*)(const float* a, const float* b, float* out, uint64_t lo, uint64_t hi);

/// Calls body(k) for k in [lo, hi), kUnroll times per round of the loop.
template <uint64_t kUnroll, class Body>
void for_each(uint64_t lo, uint64_t hi, Body&& body) {
  for (; lo + kUnroll <= hi; lo += kUnroll) {
    for (uint64_t k = 0; k < kUnroll; ++k) body(lo + k);
  }
  for (; lo < hi; ++lo) body(lo);
}

template <uint64_t kUnroll>
void relu(const float* a, const float*, float* out, uint64_t lo, uint64_t hi) {
  for_each<kUnroll>(lo, hi, [=](uint64_t k) { out[k] = a[k] < 0 ? 0 : a[k]; });
}
template <uint64_t kUnroll>
void add(const float* a, const float* b, float* out, uint64_t lo, uint64_t hi) {
  for_each<kUnroll>(lo, hi, [=](uint64_t k) { out[k] = a[k] + b[k]; });
}
template <uint64_t kUnroll>
void add_relu(const float* a, const float* b, float* out, uint64_t lo, uint64_t hi) {
  add<kUnroll>(a, b, out, lo, hi);
  relu<kUnroll>(out, nullptr, out, lo, hi);
}

/// Returns true for nodes without attributes. The plugin's ops have none, and an unknown one may
/// change the meaning of the op.
bool is_plain(const Node& node) { return node.attrs.unknown({}).empty(); }

/// Returns the name of an op, or of a composite's pattern; empty for what the plugin does not run.
std::string name_of(const Graph& graph, const Node& node) {
  if (const Body* body = graph.callee(node)) {
    bool plain = std::all_of(body->nodes.begin(), body->nodes.end(), is_plain);
    return plain && body->pattern == "example.add_relu" ? body->pattern : "";
  }
  return is_plain(node) && (node.op == "relu" || node.op == "add") ? node.op : "";
}

template <uint64_t kUnroll>
Loop unrolled_loop(const std::string& name) {
  if (name == "example.add_relu") return add_relu<kUnroll>;
  return name == "relu" ? relu<kUnroll> : add<kUnroll>;
}
Loop loop_of(const std::string& name, const std::string& unroll) {
  return unroll == "4" ? unrolled_loop<4>(name) : unrolled_loop<1>(name);
}

/// Returns the choices for a graph: elements per block of a parallel loop, and rounds unrolled. The
/// task has ops, operands and types, but no names and no values.
KnobSpace space_of(const Graph& graph) {
  KnobSpace space{
      .kind = "example.loop",
      .knobs = {{"block", {"4096", "16384", "65536"}}, {"unroll", {"1", "4"}}},
      .guesses = {{{"block", "16384"}, {"unroll", "1"}}, {{"block", "16384"}, {"unroll", "4"}}}};
  for (const Node& node : graph.nodes) {
    const Type& result = graph.type(node);
    const std::string name = name_of(graph, node);
    space.task += name + " " + result.text();
    for (const Operand& operand : node.args)
      space.task += " " + std::string(1, "icn"[static_cast<int>(operand.kind)]) +
                    std::to_string(operand.index);
    space.task += "\n";
    const auto elements = static_cast<double>(result.elements());
    space.flops += (name == "example.add_relu" ? 2 : 1) * elements;
    space.bytes += static_cast<double>(sizeof(float) * (node.args.size() + 1)) * elements;
  }
  return space;
}

/// A region as a list of steps. compile and load decide everything; run walks the list and
/// allocates nothing, so any number of threads may run one kernel.
class ExampleKernel : public Kernel {
 public:
  explicit ExampleKernel(Function& function) : outputs_(function.graph.outputs) {
    const Graph& graph = function.graph;
    KnobSpace space = space_of(graph);
    space.check(function.point);
    const Point& point = function.point.empty() ? space.guesses[0] : function.point;
    const std::string& unroll = point.at("unroll");
    block_ = std::stoull(point.at("block"));
    if (unroll != "1") name_ = "loops unrolled by " + unroll;
    for (size_t k = 0; k < graph.constants.size(); ++k)
      constants_.push_back(function.constants.keep(k));
    for (size_t k = 0; k < graph.nodes.size(); ++k) {
      const Node& node = graph.nodes[k];
      const std::string name = name_of(graph, node);
      if (name.empty()) throw Declined("no loop for \"" + node.op + "\"", static_cast<int64_t>(k));
      Loop loop = loop_of(name, unroll);
      auto elements = static_cast<uint64_t>(graph.type(node).elements());
      steps_.push_back({loop, node.args[0], node.args.back(), elements, workspace_bytes_});
      workspace_bytes_ += (elements * sizeof(float) + 63) / 64 * 64;
    }
    for (const Operand& output : outputs_) output_bytes_.push_back(graph.type(output).bytes());
  }

  KernelInfo info() const override {
    KernelInfo info;
    info.workspace_bytes = workspace_bytes_;
    info.implementation = name_;
    return info;
  }

  void run(const Call& call) const override {
    for (const Step& step : steps_) {
      const float *a = source(call, step.a), *b = source(call, step.b);
      float* out = result(call, step);
      host().parallel_for(
          step.elements, block_,
          [&](uint64_t lo, uint64_t hi, uint32_t /*worker*/) { step.loop(a, b, out, lo, hi); });
    }
    for (size_t k = 0; k < outputs_.size(); ++k) {
      if (output_bytes_[k] == 0) continue;  // a tensor of no elements may have no memory
      std::memcpy(call.out_data<float>(k), source(call, outputs_[k]), output_bytes_[k]);
    }
  }

 private:
  struct Step {
    Loop loop;
    Operand a, b;               // the same when there is one
    uint64_t elements, offset;  // offset of the result in the workspace
  };
  static float* result(const Call& call, const Step& step) {
    return reinterpret_cast<float*>(static_cast<char*>(call.workspace()) + step.offset);
  }
  const float* source(const Call& call, const Operand& operand) const {
    switch (operand.kind) {
      case Operand::kInput:
        return call.in_data<float>(operand.index);
      case Operand::kConstant:
        return constants_[operand.index].data<float>();
      default:
        return result(call, steps_[operand.index]);
    }
  }

  std::vector<Held> constants_;  // the host's memory, not a copy
  std::vector<Step> steps_;
  std::vector<Operand> outputs_;
  std::vector<uint64_t> output_bytes_;
  uint64_t workspace_bytes_ = 0, block_ = 0;
  std::string name_ = "plain loops";
};

class Example : public Plugin {
  /// Declares the patterns. A single op becomes supported; several become one node, a composite of
  /// this name.
  std::vector<Pattern> patterns() const override {
    return {
        {"relu", op("relu").dtype({"f32"})},
        {"add", op("add").dtype({"f32"})},
        {"example.add_relu", op("relu", {op("add", {any("a"), any("b")}).dtype({"f32"})})},
    };
  }

  /// Checks what patterns cannot express, here shapes; the reason of a refusal reaches the user.
  Verdict judge(const Graph& match) const override {
    const Node& node = match.nodes.at(0);
    const Type& result = match.type(node);
    if (!result.is_static())
      return Verdict::no("needs shapes that are numbers, has " + result.text());
    for (const Operand& operand : node.args) {
      const Type& type = match.type(operand);
      if (type.dims != result.dims)
        return Verdict::no("no broadcasting, has " + type.text() + " for " + result.text());
    }
    return Verdict::yes();
  }

  /// The same with an estimate of the time: the loop does little more than read its operands and
  /// write its result.
  Verdict judge_on(const Graph& match, const Machine& machine) const override {
    Verdict verdict = judge(match);
    if (verdict.accept == 0) return verdict;
    const Node& node = match.nodes.at(0);
    double bytes = static_cast<double>(match.type(node).bytes());
    for (const Operand& operand : node.args)
      bytes += static_cast<double>(match.type(operand).bytes());
    verdict.cost.est_ns = est_ns(machine.run_ns({.flops = 0, .bytes = bytes}));
    return verdict;
  }

  /// Publishes the choices that `byoc tune` measures.
  KnobSpace knobs(CompileRequest& request) override { return space_of(request.functions[0].graph); }

  /// Compiles a region; also called to rebuild the kernel from an artifact.
  std::unique_ptr<Kernel> compile(Function& function) override {
    return std::make_unique<ExampleKernel>(function);
  }
};

}  // namespace

BYOC_PLUGIN(Example, "example", "0.1.0", .priority = 1)
