#include "bench/support/onnx_graphs.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <fstream>
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

}  // namespace

double write_onnx_graph(const std::string& path, Shape shape, uint32_t ops, double x) {
  Maker maker;
  double y = shape == Shape::kChain ? add_chain(maker, ops, x) : add_ladder(maker, ops, x);
  maker.finish(path);
  return y;
}

}  // namespace byoc::bench
