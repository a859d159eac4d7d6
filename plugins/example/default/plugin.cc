// SPDX-License-Identifier: Apache-2.0
// A default codegen with a fusion of its own: relu, add and multiply without broadcasting, softmax
// along the last axis, and products of matrices, on f32. A product and the softmax of its rows are
// one kernel, which makes one row after the other: `partition` lists such pairs.
// `byoc new-plugin NAME --default` makes a copy of it under another name to start from.
#include <byoc/plugin/sdk.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace {
using namespace byoc::sdk;

/// A result as a matrix: rows of `columns` elements. `depth`: the columns of a product's first
/// operand; an elementwise op has rows of one element.
struct Shape {
  uint64_t rows = 0, depth = 0, columns = 1;
};

/// Computes the rows [lo, hi) of a result; `b` is `a` for ops of one operand.
using Loop = void (*)(const Shape& shape, const float* a, const float* b, float* out, uint64_t lo,
                      uint64_t hi);

void relu(const Shape&, const float* a, const float*, float* out, uint64_t lo, uint64_t hi) {
  for (uint64_t k = lo; k < hi; ++k) out[k] = a[k] < 0 ? 0 : a[k];
}
void add(const Shape&, const float* a, const float* b, float* out, uint64_t lo, uint64_t hi) {
  for (uint64_t k = lo; k < hi; ++k) out[k] = a[k] + b[k];
}
void multiply(const Shape&, const float* a, const float* b, float* out, uint64_t lo, uint64_t hi) {
  for (uint64_t k = lo; k < hi; ++k) out[k] = a[k] * b[k];
}

/// Computes a row of softmax, which may be where its operand is.
void softmax_row(const float* x, float* out, uint64_t n) {
  float most = -INFINITY, sum = 0;
  for (uint64_t k = 0; k < n; ++k) most = x[k] > most || std::isnan(x[k]) ? x[k] : most;
  for (uint64_t k = 0; k < n; ++k) sum += out[k] = std::exp(x[k] - most);
  for (uint64_t k = 0; k < n; ++k) out[k] /= sum;
}
void product_row(const Shape& shape, const float* a, const float* b, float* out) {
  std::fill_n(out, shape.columns, 0.0F);
  for (uint64_t k = 0; k < shape.depth; ++k) {
    const float* row = b + k * shape.columns;
    for (uint64_t n = 0; n < shape.columns; ++n) out[n] += a[k] * row[n];
  }
}

void softmax(const Shape& shape, const float* a, const float*, float* out, uint64_t lo,
             uint64_t hi) {
  for (uint64_t row = lo; row < hi; ++row)
    softmax_row(a + row * shape.columns, out + row * shape.columns, shape.columns);
}
void matmul(const Shape& shape, const float* a, const float* b, float* out, uint64_t lo,
            uint64_t hi) {
  for (uint64_t row = lo; row < hi; ++row)
    product_row(shape, a + row * shape.depth, b, out + row * shape.columns);
}
/// The fusion: the product's row is still in the first cache when softmax reads it.
void matmul_softmax(const Shape& shape, const float* a, const float* b, float* out, uint64_t lo,
                    uint64_t hi) {
  for (uint64_t row = lo; row < hi; ++row) {
    float* to = out + row * shape.columns;
    product_row(shape, a + row * shape.depth, b, to);
    softmax_row(to, to, shape.columns);
  }
}

Loop loop_of(const std::string& op) {
  if (op == "relu") return relu;
  if (op == "add") return add;
  if (op == "multiply") return multiply;
  if (op == "softmax") return softmax;
  return op == "matmul" ? matmul : nullptr;
}

/// Returns why the plugin does not run an op; "" when it does.
std::string why_not(const Graph& graph, const Node& node) {
  if (loop_of(node.op) == nullptr) return "runs relu, add, multiply, softmax and matmul alone";
  const Type& result = graph.type(node);
  for (const Operand& operand : node.args) {
    const Type& type = graph.type(operand);
    if (type.dtype != DType::kF32 || !type.is_static())
      return "needs f32 with shapes that are numbers, has " + type.text();
    if (node.op == "matmul" && type.rank() != 2) return "multiplies matrices, has " + type.text();
    if (node.op != "matmul" && type.dims != result.dims)
      return "no broadcasting, has " + type.text() + " for " + result.text();
  }
  if (node.op != "softmax") return node.attrs.unknown({}).empty() ? "" : "has unknown attributes";
  if (!node.attrs.unknown({"axis"}).empty()) return "has unknown attributes";
  const int64_t axis = node.attrs.i("axis", -1), last = static_cast<int64_t>(result.rank()) - 1;
  return axis == -1 || axis == last ? "" : "softmax along the last axis alone";
}

/// A product, and the softmax that is its only reader.
struct Pair {
  uint64_t product, softmax;  // nodes
};
/// Returns the pairs of a graph. Both partition and compile use it, so that they agree.
std::vector<Pair> pairs_of(const Graph& graph) {
  std::vector<uint64_t> readers(graph.nodes.size(), 0);
  auto read = [&](const Operand& operand) {
    if (operand.kind == Operand::kNode) ++readers[operand.index];
  };
  for (const Node& node : graph.nodes) std::for_each(node.args.begin(), node.args.end(), read);
  std::for_each(graph.outputs.begin(), graph.outputs.end(), read);
  std::vector<Pair> out;
  for (uint64_t k = 0; k < graph.nodes.size(); ++k) {
    const Node& node = graph.nodes[k];
    if (node.op != "softmax" || node.args[0].kind != Operand::kNode) continue;
    const uint64_t from = node.args[0].index;
    if (graph.nodes[from].op == "matmul" && readers[from] == 1) out.push_back({from, k});
  }
  return out;
}

Shape shape_of(const Graph& graph, const Node& node) {
  const Type& result = graph.type(node);
  const auto elements = static_cast<uint64_t>(result.elements());
  if (node.op != "matmul" && node.op != "softmax") return {elements, 0, 1};
  const auto columns = static_cast<uint64_t>(result.dims.back());
  const int64_t depth = graph.type(node.args[0]).dims.back();
  return {columns == 0 ? 0 : elements / columns, static_cast<uint64_t>(depth), columns};
}

/// A function as a list of steps. compile and load decide everything; run walks the list and
/// allocates nothing, so any number of threads may run one kernel.
class ExampleKernel : public Kernel {
 public:
  explicit ExampleKernel(Function& function) : outputs_(function.graph.outputs) {
    const Graph& graph = function.graph;
    for (size_t k = 0; k < graph.constants.size(); ++k)
      constants_.push_back(function.constants.keep(k));
    for (size_t k = 0; k < graph.nodes.size(); ++k) add_step(graph, k);
    for (const Pair& pair : pairs_of(graph)) fuse(pair);
    for (const Operand& output : outputs_) output_bytes_.push_back(graph.type(output).bytes());
  }

  KernelInfo info() const override {
    KernelInfo info;
    info.workspace_bytes = workspace_bytes_;
    info.implementation = fused_ == 0 ? "loops" : "loops, products with softmax fused";
    return info;
  }

  void run(const Call& call) const override {
    for (const Step& step : steps_) {
      if (step.loop == nullptr) continue;  // a part of another step
      const float *a = source(call, step.a), *b = source(call, step.b);
      float* out = result(call, step);
      constexpr uint64_t kBlock = 16384;  // operations of a worker, at least
      const uint64_t row = std::max<uint64_t>(1, step.shape.columns * (step.shape.depth + 1));
      host().parallel_for(step.shape.rows, (kBlock + row - 1) / row,
                          [&](uint64_t lo, uint64_t hi, uint32_t /*worker*/) {
                            step.loop(step.shape, a, b, out, lo, hi);
                          });
    }
    for (size_t k = 0; k < outputs_.size(); ++k) {
      if (output_bytes_[k] == 0) continue;  // a tensor of no elements may have no memory
      std::memcpy(call.out_data<float>(k), source(call, outputs_[k]), output_bytes_[k]);
    }
  }

 private:
  struct Step {
    Loop loop;
    Operand a, b;  // the same when there is one
    Shape shape;
    uint64_t offset;  // of the result in the workspace
  };
  void add_step(const Graph& graph, size_t k) {
    const Node& node = graph.nodes[k];
    const std::string why = node.is_call() ? "has no composites" : why_not(graph, node);
    if (!why.empty()) throw Declined(why, static_cast<int64_t>(k));
    steps_.push_back({loop_of(node.op), node.args[0], node.args.back(), shape_of(graph, node),
                      workspace_bytes_});
    workspace_bytes_ += (static_cast<uint64_t>(graph.type(node).bytes()) + 63) / 64 * 64;
  }
  /// Computes the product of a pair in the place of its softmax.
  void fuse(const Pair& pair) {
    Step &product = steps_[pair.product], &softmax = steps_[pair.softmax];
    softmax.loop = matmul_softmax;
    softmax.a = product.a, softmax.b = product.b;
    softmax.shape = product.shape;
    product.loop = nullptr;
    ++fused_;
  }
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
  std::vector<Step> steps_;      // one per node
  std::vector<Operand> outputs_;
  std::vector<uint64_t> output_bytes_;
  uint64_t workspace_bytes_ = 0, fused_ = 0;
};

class Example : public Plugin {
  /// Without patterns every op is a candidate of judge.
  std::vector<Pattern> patterns() const override { return {}; }

  /// Decides on one op; the reason of a refusal reaches the user.
  Verdict judge(const Graph& match) const override {
    std::string why = why_not(match, match.nodes.at(0));
    return why.empty() ? Verdict::yes() : Verdict::no(std::move(why));
  }

  /// The same with an estimate of the time: a product reaches about a quarter of the peak.
  Verdict judge_on(const Graph& match, const Machine& machine) const override {
    Verdict verdict = judge(match);
    if (verdict.accept == 0) return verdict;
    const Node& node = match.nodes.at(0);
    const Shape shape = shape_of(match, node);
    double bytes = static_cast<double>(match.type(node).bytes());
    for (const Operand& operand : node.args)
      bytes += static_cast<double>(match.type(operand).bytes());
    const bool is_product = node.op == "matmul";
    const double flops = is_product ? 2.0 * static_cast<double>(shape.rows * shape.depth) *
                                          static_cast<double>(shape.columns)
                                    : 0.0;
    const Share share{.peak = is_product ? 0.25 : 1.0};
    verdict.cost.est_ns = est_ns(machine.run_ns({.flops = flops, .bytes = bytes}, share));
    return verdict;
  }

  /// Lists the ops that are to be one kernel. The host makes a function of each pair and no others.
  std::vector<Group> partition(CompileRequest& request) override {
    std::vector<Group> groups;
    for (const Pair& pair : pairs_of(request.functions[0].graph))
      groups.push_back({"matmul_softmax", {pair.product, pair.softmax}});
    return groups;
  }

  /// Compiles a function; also called to rebuild the kernel from an artifact.
  std::unique_ptr<Kernel> compile(Function& function) override {
    return std::make_unique<ExampleKernel>(function);
  }
};

}  // namespace

BYOC_PLUGIN(Example, "example_default", "0.1.0", .flags = BYOC_PLUGIN_DEFAULT, .priority = 1)
