// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small ONNX models made with ONNX's own protobuf classes.
#include <gmock/gmock.h>
#include <onnx/onnx_pb.h>

#include <string>
#include <variant>
#include <vector>

#include "byoc/import.h"
#include "support/temp_folder.h"

namespace byoc::test {

using DimSpec = std::variant<int, const char*>;  // an extent, a name, or "" when unnamed

class OnnxModel {
 public:
  explicit OnnxModel(int opset = 13) {
    proto.set_ir_version(7);
    set_opset("", opset);
    graph().set_name("test");
  }
  onnx::GraphProto& graph() { return *proto.mutable_graph(); }
  OnnxModel& set_opset(const std::string& domain, int version) {
    auto* import = proto.add_opset_import();
    import->set_domain(domain);
    import->set_version(version);
    return *this;
  }
  OnnxModel& input(const std::string& name, const std::vector<DimSpec>& dims,
                   int dtype = onnx::TensorProto::FLOAT) {
    describe(*graph().add_input(), name, dims, dtype);
    return *this;
  }
  /// Adds an output. Without a dtype the model does not declare its type.
  OnnxModel& output(const std::string& name, int dtype = onnx::TensorProto::UNDEFINED) {
    describe(*graph().add_output(), name, {}, dtype);
    return *this;
  }
  onnx::NodeProto& node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs, const std::string& name = "") {
    auto* node = graph().add_node();
    node->set_op_type(op);
    node->set_name(name);
    for (const auto& text : inputs) node->add_input(text);
    for (const auto& text : outputs) node->add_output(text);
    return *node;
  }
  onnx::TensorProto& initializer(const std::string& name, const std::vector<int64_t>& dims,
                                 const std::vector<float>& values) {
    auto* tensor = graph().add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(onnx::TensorProto::FLOAT);
    for (int64_t dim : dims) tensor->add_dims(dim);
    for (float value : values) tensor->add_float_data(value);
    return *tensor;
  }
  std::string save(const std::string& path) const {
    put(path, proto.SerializeAsString());
    return path;
  }
  Result<IRModule> import(const ImportOptions& options = {}) const {
    TempFolder folder;
    return import_onnx(save(folder.file("model.onnx")), all_ops(), options);
  }

  onnx::ModelProto proto;

 private:
  static void describe(onnx::ValueInfoProto& info, const std::string& name,
                       const std::vector<DimSpec>& dims, int dtype) {
    info.set_name(name);
    auto* tensor = info.mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(dtype);
    auto* shape = tensor->mutable_shape();
    for (const DimSpec& spec : dims) {
      auto* dim = shape->add_dim();
      if (auto* extent = std::get_if<int>(&spec)) dim->set_dim_value(*extent);
      else if (*std::get<const char*>(spec)) dim->set_dim_param(std::get<const char*>(spec));
    }
  }
};

/// Returns the model x[2,3] -> Relu -> y, for tests that do not depend on the op.
inline OnnxModel relu_model(int opset = 13) {
  OnnxModel model(opset);
  model.input("x", {2, 3}).output("y");
  model.node("Relu", {"x"}, {"y"}, "the_relu");
  return model;
}

/// Checks that `result` is an error with this slug, and that its full text contains `text`.
#define EXPECT_ERROR(result, expected_slug, text)                                 \
  do {                                                                            \
    auto&& checked_result = (result);                                             \
    ASSERT_FALSE(checked_result.ok());                                            \
    EXPECT_EQ(checked_result.status().slug(), expected_slug);                     \
    EXPECT_THAT(checked_result.status().to_string(), ::testing::HasSubstr(text)); \
  } while (false)

}  // namespace byoc::test
