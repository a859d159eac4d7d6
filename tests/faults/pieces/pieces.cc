// SPDX-License-Identifier: Apache-2.0
// Takes GELU and layer norm in the pieces that exporters write, when their constants are right.
// With -DBREAK_GELU or -DBREAK_NORM results of one of them are 0.01 too large, with
// -DBREAK_LEAKS each run keeps 64 KiB, with -DBREAK_SLEEPS a run sleeps, with -DBREAK_THROWS it
// throws an error, hangs with -DBREAK_HANGS, crashes with -DBREAK_CRASHES, and for tensors without
// elements with -DBREAK_EMPTY. With -DBREAK_DECLINES compile declines what judge accepted, and with
// -DBREAK_COMPILES_LONG the first compile takes 1.5 s.
#include <byoc/plugin/sdk.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <thread>

namespace {
using namespace byoc::sdk;

Dag gelu() {
  return op("multiply",
            {op("multiply",
                {any("x"), op("add", {op("erf", {op("divide", {same("x"), constant("root")})}),
                                      constant("one")})}),
             constant("half")});
}

Dag mean(const Dag& x) { return op("mean", {x}).attr("axes", "[-1]").attr("keepdims", "true"); }

Dag layer_norm() {
  const Dag difference = op("subtract", {any("x"), mean(same("x"))}).as("d");
  const Dag variance = mean(op("power", {same("d"), constant("two", 2)}));
  return op("add",
            {op("multiply",
                {op("divide", {difference, op("sqrt", {op("add", {variance, constant("eps")})})}),
                 constant("gamma")}),
             constant("beta")});
}

bool is_near(std::optional<double> value, double expected) {
  return value && std::abs(*value - expected) <= 1e-4 * expected;
}

class Kernel : public byoc::sdk::Kernel {
 public:
  explicit Kernel(Function& function) {
    const Graph& graph = function.graph;
    if (graph.nodes.size() != 1 || !graph.nodes[0].is_call())
      throw Declined("takes one composite at a time", graph.nodes.size() > 1 ? 1 : -1);
    const Match match(graph, graph.nodes[0]);
    if (!graph.nodes[0].attrs.unknown({}).empty()) throw Declined("has an unknown attribute");
    for (const Node& node : match.body().nodes) {
      if (!node.attrs.unknown({"axes", "keepdims", "noop_with_empty_axes"}).empty())
        throw Declined("has an unknown attribute");
    }
    const Type& type = graph.output_type(0);
    if (type.dtype != DType::kF32) throw Declined("is not of f32");
    elements_ = static_cast<size_t>(type.elements());
    width_ = type.rank() == 0 ? 1 : static_cast<size_t>(type.dims.back());
    if (match.pattern() == "pieces.gelu") return;
    eps_ = *match.constant<float>("eps");
    gamma_ = list_of(function, *match.constant_index("gamma"));
    beta_ = list_of(function, *match.constant_index("beta"));
  }
  KernelInfo info() const override {
    KernelInfo info{.flags = BYOC_KERNEL_MAY_ALLOC};
    info.implementation = gamma_.empty() ? "gelu" : "layer_norm";
    return info;
  }
  void run(const Call& call) const override {
#if BREAK_LEAKS
    static std::atomic<void*> kept;  // so that the leak is not optimised out
    kept = std::calloc(1, 65536);
#endif
#if BREAK_SLEEPS
    std::this_thread::sleep_for(std::chrono::milliseconds(80));
#endif
#if BREAK_THROWS
    throw Error(BYOC_INTERNAL, "the chip is on fire");
#endif
#if BREAK_HANGS
    for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
#endif
#if BREAK_CRASHES
    std::abort();
#endif
#if BREAK_EMPTY
    if (elements_ == 0) std::abort();
#endif
    const float* x = call.in_data<float>(0);
    float* y = call.out_data<float>(0);
    if (gamma_.empty()) gelu(x, y);
    else
      for (size_t row = 0; row < elements_; row += width_) norm(x + row, y + row);
  }

 private:
  static std::vector<float> list_of(Function& function, uint32_t index) {
    const Type& type = function.graph.types[function.graph.constants[index].type];
    const float* data = function.constants.data<float>(index);
    return {data, data + type.elements()};
  }
  void gelu(const float* x, float* y) const {
    for (size_t k = 0; k < elements_; ++k) {
      y[k] = 0.5F * x[k] * (1 + std::erf(x[k] * 0.70710678F));
#if BREAK_GELU
      y[k] += 0.01F;
#endif
    }
  }
  void norm(const float* x, float* y) const {
    double sum = 0, squares = 0;
    for (size_t k = 0; k < width_; ++k) sum += x[k];
    const double mean = sum / static_cast<double>(width_);
    for (size_t k = 0; k < width_; ++k) squares += (x[k] - mean) * (x[k] - mean);
    const double scale = 1 / std::sqrt(squares / static_cast<double>(width_) + eps_);
    for (size_t k = 0; k < width_; ++k) {
      y[k] = static_cast<float>((x[k] - mean) * scale) * gamma_[k] + beta_[k];
#if BREAK_NORM
      y[k] += 0.01F;
#endif
    }
  }
  size_t elements_ = 0, width_ = 1;
  float eps_ = 0;
  std::vector<float> gamma_, beta_;  // empty: GELU
};

class Pieces : public Plugin {
  std::vector<Pattern> patterns() const override {
    return {{"pieces.gelu", gelu()}, {"pieces.layer_norm", layer_norm()}};
  }
  Verdict judge(const Graph& graph) const override {
    if (graph.nodes.size() != 1 || !graph.nodes[0].is_call())
      return Verdict::no("takes composites only");
    const Match match(graph, graph.nodes[0]);
    const Type& type = graph.type(graph.nodes[0]);
    const std::optional<Operand> x = match.operand("x");
    if (type.dtype != DType::kF32 || !type.is_static())
      return Verdict::no("takes f32 with extents");
    if (!x || x->kind == Operand::kConstant) return Verdict::no("takes no constant x");
    if (graph.type(*x).dims != type.dims) return Verdict::no("takes no broadcast of x");
    if (match.pattern() == "pieces.gelu") {
      const bool is_gelu = is_near(match.constant<double>("root"), std::sqrt(2.0)) &&
                           is_near(match.constant<double>("one"), 1) &&
                           is_near(match.constant<double>("half"), 0.5);
      return is_gelu ? Verdict::yes() : Verdict::no("has other constants than GELU");
    }
    const std::optional<double> eps = match.constant<double>("eps");
    if (!eps || !(*eps >= 0 && *eps <= 1e-3)) return Verdict::no("has no epsilon");
    for (const char* name : {"gamma", "beta"}) {
      const Type& list = graph.types[graph.constants[*match.constant_index(name)].type];
      if (list.dims != std::vector<int64_t>{type.dims.back()})
        return Verdict::no(std::string(name) + " has another shape than the rows");
    }
    return Verdict::yes();
  }
  std::unique_ptr<byoc::sdk::Kernel> compile(Function& function) override {
#if BREAK_DECLINES
    throw Declined("it looked easier from outside");
#endif
#if BREAK_COMPILES_LONG
    static std::atomic<bool> was_here = false;
    if (!was_here.exchange(true)) std::this_thread::sleep_for(std::chrono::milliseconds(1500));
#endif
    return std::make_unique<Kernel>(function);
  }
};

}  // namespace

BYOC_PLUGIN(Pieces, "pieces", "1.0.0", .priority = 10)
