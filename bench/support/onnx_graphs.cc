// SPDX-License-Identifier: Apache-2.0
#include "bench/support/onnx_graphs.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <random>
#include <tuple>

#include "byoc/base/check.h"

namespace byoc::bench {
namespace {

class Maker {
 public:
  Maker() {
    model_.set_ir_version(7);
    auto* import = model_.add_opset_import();
    import->set_domain("");
    import->set_version(13);
    graph().set_name("bench");
    describe(*graph().add_input(), "x");
    auto* constant = graph().add_initializer();
    constant->set_name("c");
    constant->set_data_type(onnx::TensorProto::FLOAT);
    constant->add_dims(64);
    for (int k = 0; k < 64; ++k) constant->add_float_data(0.125f);
  }
  std::string add(const char* op, std::initializer_list<std::string> inputs) {
    auto* node = graph().add_node();
    node->set_op_type(op);
    node->set_name(cat("/", op, "_", count_));
    for (const std::string& input : inputs) node->add_input(input);
    std::string output = cat("v", count_++);
    node->add_output(output);
    return output;
  }
  uint32_t count() const { return count_; }
  void finish(const std::string& path) {
    graph().mutable_node(graph().node_size() - 1)->set_output(0, std::string(1, 'y'));
    describe(*graph().add_output(), "y");
    std::ofstream file(path, std::ios::binary);
    BYOC_CHECK(model_.SerializeToOstream(&file) && file.flush(), "cannot write ", path);
  }

 private:
  onnx::GraphProto& graph() { return *model_.mutable_graph(); }
  static void describe(onnx::ValueInfoProto& value, const char* name) {
    value.set_name(name);
    auto* type = value.mutable_type()->mutable_tensor_type();
    type->set_elem_type(onnx::TensorProto::FLOAT);
    for (int64_t extent : {1, 64}) type->mutable_shape()->add_dim()->set_dim_value(extent);
  }
  onnx::ModelProto model_;
  uint32_t count_ = 0;
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

double add_chain(Maker& maker, uint32_t ops, double x) {
  std::string name(1, 'x');
  for (uint32_t k = 0; k < ops; k += 4) {
    name = maker.add("Relu", {name});
    name = maker.add("Tanh", {name});
    name = maker.add("Sigmoid", {name});
    name = maker.add("Add", {name, "c"});
    x = sigmoid(std::tanh(std::max(x, 0.0))) + 0.125;
  }
  return x;
}

double add_ladder(Maker& maker, uint32_t ops, double x) {
  std::string a(1, 'x'), b = maker.add("Tanh", {a});
  double left = x, right = std::tanh(x);
  while (maker.count() + 4 < ops) {
    std::string sum = maker.add("Add", {a, b}), difference = maker.add("Sub", {a, b});
    a = maker.add("Tanh", {sum});
    b = maker.add("Sigmoid", {difference});
    std::tie(left, right) = std::pair(std::tanh(left + right), sigmoid(left - right));
  }
  maker.add("Mul", {a, b});
  return left * right;
}

// A value of the random graph. `error` bounds its distance from that in f32, in units of 2^-24.
struct Known {
  std::string name;
  double value = 0, error = 0;
};

struct Unary {
  const char* op;
  double (*compute)(double);
};
constexpr Unary kUnary[] = {{"Relu", [](double x) { return std::max(x, 0.0); }},
                            {"Tanh", [](double x) { return std::tanh(x); }},
                            {"Sigmoid", sigmoid},
                            {"Neg", [](double x) { return -x; }},
                            {"Abs", [](double x) { return std::fabs(x); }},
                            {"Sin", [](double x) { return std::sin(x); }},
                            {"Atan", [](double x) { return std::atan(x); }},
                            {"Erf", [](double x) { return std::erf(x); }}};
struct Binary {
  const char* op;
  double (*compute)(double, double);
};
constexpr Binary kBinary[] = {{"Add", [](double a, double b) { return a + b; }},
                              {"Sub", [](double a, double b) { return a - b; }},
                              {"Mul", [](double a, double b) { return a * b; }},
                              {"Max", [](double a, double b) { return std::max(a, b); }},
                              {"Min", [](double a, double b) { return std::min(a, b); }}};
constexpr size_t kNear = 32, kMostUnread = 16;
constexpr double kMostError = 64, kMostValue = 4, kOpError = 4;

class RandomGraph {
 public:
  RandomGraph(Maker& maker, double x) : maker_(maker), values_{{"x", x, 0}} {}
  double add(uint32_t ops) {
    while (maker_.count() < ops) add_op();
    while (unread_.size() > 1) {
      size_t a = take(), b = take();
      push(add_binary(kBinary[3], values_[a], values_[b]));
    }
    return values_.back().value;
  }

 private:
  void add_op() {
    const Known a = values_[unread_.size() > kMostUnread ? take() : near()];
    if (a.error > kMostError || std::fabs(a.value) > kMostValue) {
      push({maker_.add("Mul", {a.name, "c"}), a.value / 8, a.error / 8 + kOpError});
    } else if (random_() % 2 == 0) {
      const Unary& unary = kUnary[random_() % std::size(kUnary)];
      double slope = 1.13;  // erf's, the steepest
      push({maker_.add(unary.op, {a.name}), unary.compute(a.value), slope * a.error + kOpError});
    } else {
      push(add_binary(kBinary[random_() % std::size(kBinary)], a, values_[near()]));
    }
  }
  Known add_binary(const Binary& binary, const Known& a, const Known& b) {
    double scale = std::max({1.0, std::fabs(a.value), std::fabs(b.value)});
    bool is_product = binary.op[1] == 'u' && binary.op[0] == 'M';
    double error = is_product ? scale * (a.error + b.error) : a.error + b.error;
    return {maker_.add(binary.op, {a.name, b.name}), binary.compute(a.value, b.value),
            error + kOpError * scale};
  }
  size_t near() {
    size_t at = values_.size() - 1 - random_() % std::min(values_.size(), kNear);
    std::erase(unread_, at);
    return at;
  }
  size_t take() {
    size_t first = unread_.front();
    unread_.erase(unread_.begin());
    return first;
  }
  void push(Known value) {
    unread_.push_back(values_.size());
    values_.push_back(std::move(value));
  }
  Maker& maker_;
  std::mt19937 random_{1};
  std::vector<Known> values_;
  std::vector<size_t> unread_;  // a few at a time
};

}  // namespace

std::optional<Shape> shape_of(std::string_view name) {
  if (name == "chain") return Shape::kChain;
  if (name == "ladder") return Shape::kLadder;
  if (name == "random") return Shape::kRandom;
  return std::nullopt;
}

double write_onnx_graph(const std::string& path, Shape shape, uint32_t ops, double x) {
  Maker maker;
  double y = shape == Shape::kChain    ? add_chain(maker, ops, x)
             : shape == Shape::kLadder ? add_ladder(maker, ops, x)
                                       : RandomGraph(maker, x).add(ops);
  maker.finish(path);
  return y;
}

}  // namespace byoc::bench
