// SPDX-License-Identifier: Apache-2.0
#include "core/tools/ops_bench/op_model.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <fstream>

#include "core/import/onnx/file/dtypes.h"
#include "runtime/cli/values.h"

namespace byoc::driver {
namespace {

constexpr int kIrVersion = 10;

void set_tensor(onnx::TensorProto& to, const std::string& name, const Tensor& tensor) {
  to.set_name(name);
  to.set_data_type(onnx_import::dtype_to_onnx(tensor.spec().dtype));
  for (int64_t extent : tensor.spec().dims) to.add_dims(extent);
  to.set_raw_data(tensor.data(), tensor.size_bytes());
}

void set_type(onnx::ValueInfoProto& to, const std::string& name, const TensorSpec& spec) {
  to.set_name(name);
  auto& type = *to.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx_import::dtype_to_onnx(spec.dtype));
  auto& shape = *type.mutable_shape();
  for (int64_t extent : spec.dims) shape.add_dim()->set_dim_value(extent);
}

Status add_nodes(const Json& nodes, onnx::GraphProto& to);

/// Adds the body of control flow: nodes, typed inputs, and outputs.
Status set_graph(const Json& from, onnx::GraphProto& to) {
  to.set_name("body");
  const Json inputs = from.value("inputs", Json::object());
  for (const auto& [name, text] : inputs.items()) {
    BYOC_TRY(TensorSpec spec, parse_tensor_spec(text.get<std::string>()));
    set_type(*to.add_input(), name, spec);
  }
  for (const auto& [name, text] : from.at("outputs").items()) {
    BYOC_TRY(TensorSpec spec, parse_tensor_spec(text.get<std::string>()));
    set_type(*to.add_output(), name, spec);
  }
  return add_nodes(from.at("nodes"), to);
}

/// A list is of integers when all of its numbers are.
Status set_list(const Json& values, onnx::AttributeProto& to) {
  const bool are_strings = !values.empty() && values[0].is_string();
  const bool are_whole = std::all_of(values.begin(), values.end(),
                                     [](const Json& v) { return v.is_number_integer(); });
  to.set_type(are_strings ? onnx::AttributeProto::STRINGS
              : are_whole ? onnx::AttributeProto::INTS
                          : onnx::AttributeProto::FLOATS);
  for (const Json& value : values) {
    if (are_strings) to.add_strings(value.get<std::string>());
    else if (are_whole) to.add_ints(value.get<int64_t>());
    else to.add_floats(value.get<float>());
  }
  return {};
}

Status set_attribute(const std::string& name, const Json& value, onnx::AttributeProto& to) {
  to.set_name(name);
  if (value.is_number_integer()) {
    to.set_type(onnx::AttributeProto::INT);
    to.set_i(value.get<int64_t>());
  } else if (value.is_number_float()) {
    to.set_type(onnx::AttributeProto::FLOAT);
    to.set_f(value.get<float>());
  } else if (value.is_string() && value.get<std::string>().starts_with("tensor ")) {
    BYOC_TRY(Tensor tensor, cli::parse_value(value.get<std::string>().substr(7), nullptr, 0, {}));
    to.set_type(onnx::AttributeProto::TENSOR);
    set_tensor(*to.mutable_t(), "", tensor);
  } else if (value.is_string()) {
    to.set_type(onnx::AttributeProto::STRING);
    to.set_s(value.get<std::string>());
  } else if (value.is_array()) {
    return set_list(value, to);
  } else if (value.is_object()) {
    to.set_type(onnx::AttributeProto::GRAPH);
    return set_graph(value, *to.mutable_g());
  } else {
    return table_error(cat("attribute ", name, " has no form in ONNX: ", value.dump()));
  }
  return {};
}

// Bodies of control flow are nested once or twice, by the table.
Status add_nodes(const Json& nodes, onnx::GraphProto& to) {
  for (const Json& from : nodes) {
    onnx::NodeProto& node = *to.add_node();
    node.set_op_type(from.at("op").get<std::string>());
    node.set_domain(from.value("domain", ""));
    node.set_name(cat(node.op_type(), "_", to.node_size() - 1));
    for (const Json& name : from.at("in")) node.add_input(name.get<std::string>());
    for (const Json& name : from.at("out")) node.add_output(name.get<std::string>());
    const Json attrs = from.value("attrs", Json::object());
    for (const auto& [name, value] : attrs.items())
      BYOC_TRY_STATUS(set_attribute(name, value, *node.add_attribute()));
  }
  return {};
}

Status write_files(const OpCase& one, const std::string& folder, uint64_t seed, CaseFiles& out) {
  onnx::ModelProto model;
  model.set_ir_version(kIrVersion);
  model.set_producer_name("byoc");
  model.add_opset_import()->set_version(one.opset);
  auto& microsoft = *model.add_opset_import();
  microsoft.set_domain("com.microsoft");
  microsoft.set_version(1);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name(one.op);
  BYOC_TRY_STATUS(add_nodes(one.nodes, graph));
  for (const CaseOperand& operand : one.operands) {
    BYOC_TRY(const Tensor values, values_of(operand, ++seed));
    if (operand.is_constant) {
      set_tensor(*graph.add_initializer(), operand.name, values);
      continue;
    }
    set_type(*graph.add_input(), operand.name, operand.spec);
    const std::string path = cat(folder, "/", operand.name, ".npy");
    BYOC_TRY_STATUS(write_npy(values.view(), operand.spec.dtype, path));
    out.inputs.push_back(cat(operand.name, "=", path));
  }
  for (const std::string& name : one.outputs) graph.add_output()->set_name(name);
  out.model = folder + "/model.onnx";
  std::ofstream file(out.model, std::ios::binary);
  if (model.SerializeToOstream(&file) && file.flush()) return {};
  return failed(cat("cannot write ", out.model)).with_slug("file");
}

}  // namespace

Result<CaseFiles> write_case(const OpCase& one, const std::string& folder, uint64_t seed) {
  CaseFiles out;
  try {
    BYOC_TRY_STATUS(write_files(one, folder, seed, out));
  } catch (const std::exception& e) {
    return table_error(e.what()).at(one.op);
  }
  return out;
}

}  // namespace byoc::driver
