// SPDX-License-Identifier: Apache-2.0
#pragma once
// Computes a model whose inputs are all initializers: the importer folds small constants, so its
// results are constants. Rows that become several ops are tested by their numbers.
#include <cstring>

#include "rows.h"

namespace byoc::test {

/// Element k is (k * step) % modulus - shift, times `factor`, as in tests/ops/pattern.h.
inline std::vector<float> pattern(int64_t n, int64_t step = 7, int64_t modulus = 11,
                                  int64_t shift = 5, float factor = 1) {
  std::vector<float> values;
  for (int64_t k = 0; k < n; ++k)
    values.push_back(static_cast<float>(k * step % modulus - shift) * factor);
  return values;
}
inline std::vector<float> weights(int64_t n, float factor = 1) {
  return pattern(n, 5, 7, 3, factor);
}

/// One node whose operands are initializers.
class FoldedNode {
 public:
  FoldedNode(const char* op, int opset, size_t outputs = 1) : model(opset) {
    auto& node = model.node(op, {}, {}, "n");
    for (size_t k = 0; k < outputs; ++k) {
      node.add_output(cat("y", k));
      model.output(cat("y", k));
    }
  }
  FoldedNode& floats(const std::vector<int64_t>& dims, const std::vector<float>& values) {
    model.initializer(next(), dims, values);
    return *this;
  }
  FoldedNode& ints(const std::vector<int64_t>& dims, const std::vector<int64_t>& values,
                   int dtype = onnx::TensorProto::INT64) {
    auto* tensor = model.graph().add_initializer();
    tensor->set_name(next());
    tensor->set_data_type(dtype);
    for (int64_t dim : dims) tensor->add_dims(dim);
    for (int64_t value : values) {
      if (dtype == onnx::TensorProto::INT64) tensor->add_int64_data(value);
      else tensor->add_int32_data(static_cast<int32_t>(value));
    }
    return *this;
  }
  FoldedNode& none() {
    node().add_input("");
    return *this;
  }
  template <class T>
  FoldedNode& with(const std::string& attr, const T& value) {
    set(node(), attr, value);
    return *this;
  }
  onnx::NodeProto& node() { return *model.graph().mutable_node(0); }

  /// Returns result k, or nothing after a failure of the test.
  std::vector<double> result(size_t k = 0) const {
    auto module = model.import();
    std::vector<double> values;
    EXPECT_TRUE(module.ok()) << module.status().to_string();
    if (!module.ok()) return values;
    const Function& main = module->function("main");
    auto* constant = std::get_if<Constant>(&main.nodes[main.results[k].node].kind);
    EXPECT_NE(constant, nullptr) << ops_of(model);
    if (constant == nullptr) return values;
    auto bytes = constant->data->bytes();
    switch (main.type(main.results[k])->dtype) {
      case DType::kF32:
        return numbers<float>(bytes);
      case DType::kI8:
        return numbers<int8_t>(bytes);
      case DType::kU8:
        return numbers<uint8_t>(bytes);
      case DType::kU16:
        return numbers<uint16_t>(bytes);
      default:
        ADD_FAILURE() << "no test has results of this type";
    }
    return values;
  }

  OnnxModel model;

 private:
  template <class T>
  static std::vector<double> numbers(std::span<const std::byte> bytes) {
    std::vector<T> elements(bytes.size() / sizeof(T));
    if (!bytes.empty()) std::memcpy(elements.data(), bytes.data(), bytes.size());
    return {elements.begin(), elements.end()};
  }
  std::string next() {
    std::string name = cat("c", node().input_size());
    node().add_input(name);
    return name;
  }
};

/// Expects values within 2e-5 of the largest one: the expected values have six digits.
inline void expect_values(const std::vector<double>& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  double largest = 0;
  for (double value : expected) largest = std::max(largest, std::fabs(value));
  for (size_t k = 0; k < got.size(); ++k) EXPECT_NEAR(got[k], expected[k], 2e-5 * largest) << k;
}

}  // namespace byoc::test
