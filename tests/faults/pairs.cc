// SPDX-License-Identifier: Apache-2.0
// Two plugins without a fault that take little. pairs: relu of a sum of two or three, and no op
// alone. bias (with BIAS=1): add with a constant, and no other op.
#include <byoc/plugin/sdk.h>

#include <algorithm>

namespace {
using namespace byoc::sdk;

class Sum : public Kernel {
 public:
  explicit Sum(Function& function) {
    const Graph& graph = function.graph;
    if (graph.nodes.size() != 1) throw Declined("one sum at a time");
    const Node& node = graph.nodes[0];
    const Body* body = graph.callee(node);
    for (const Node& op : body ? body->nodes : graph.nodes) {
      bool is_known = (op.op == "add" || op.op == "relu") && op.attrs.unknown({}).empty();
      if (!is_known) throw Declined("unknown op or attribute of " + op.op);
      has_relu_ |= op.op == "relu";
      for (const Operand& arg : op.args) {
        if (arg.kind != Operand::kNode) terms_.push_back(body ? node.args[arg.index] : arg);
      }
    }
    for (const Type& type : graph.types) {
      if (type.dtype != DType::kF32) throw Declined("only f32");
    }
    for (size_t k = 0; k < graph.constants.size(); ++k)
      constants_.push_back(function.constants.keep(k));
    elements_ = graph.output_type(0).elements();
  }

  void run(const Call& call) const override {
    float* out = call.out_data<float>(0);
    for (size_t t = 0; t < terms_.size(); ++t) {
      const float* x = terms_[t].kind == Operand::kInput
                           ? call.in_data<float>(terms_[t].index)
                           : constants_[terms_[t].index].data<float>();
      for (int64_t k = 0; k < elements_; ++k) out[k] = t == 0 ? x[k] : out[k] + x[k];
    }
    for (int64_t k = 0; has_relu_ && k < elements_; ++k) out[k] = out[k] < 0 ? 0 : out[k];
  }

 private:
  std::vector<Operand> terms_;
  std::vector<Held> constants_;
  int64_t elements_ = 0;
  bool has_relu_ = false;
};

class Sums : public Plugin {
  std::vector<Pattern> patterns() const override {
    Dag bias = op("add", {any("x"), constant("b")}).dtype({"f32"});
    if (BIAS) return {{"bias.add", bias}};
    Dag two = op("add", {any("a"), any("b")}).dtype({"f32"});
    Dag three = op("add", {op("add", {any("a"), any("b")}).dtype({"f32"}), any("c")});
    return {{"pairs.add_relu", op("relu", {two})}, {"pairs.add_add_relu", op("relu", {three}), 1}};
  }
  Verdict judge(const Graph& match) const override {
    const Node& node = match.nodes.at(0);
    const Type& result = match.type(node);
    for (const Operand& operand : node.args) {
      if (!result.is_static() || match.type(operand).dims != result.dims)
        return Verdict::no("no broadcasting, has " + match.type(operand).text());
    }
    return Verdict::yes();
  }
  std::unique_ptr<Kernel> compile(Function& function) override {
    return std::make_unique<Sum>(function);
  }
};

}  // namespace

BYOC_PLUGIN(Sums, ID, "1.0.0", .max_ops = 3)
