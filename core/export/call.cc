// SPDX-License-Identifier: Apache-2.0
#include "core/export/call.h"

#include "byoc/base/check.h"
#include "byoc/base/literal.h"
#include "byoc/ir/visit.h"
#include "core/import/onnx/file/dtypes.h"

namespace byoc::onnx_export {

bool FreshNames::take(const std::string& name) { return taken_.emplace(name, 0).second; }

std::string FreshNames::next(const std::string& base) {
  if (take(base)) return base;
  for (;;) {
    std::string name = cat(base, "_", ++taken_[base]);
    if (take(name)) return name;
  }
}

namespace {

using onnx::AttributeProto;

template <class List>
void set_list(AttributeProto& to, AttributeProto::AttributeType type, const List& values,
              auto append) {
  to.set_type(type);
  for (const auto& value : values) append(value);
}

void set_value(AttributeProto& to, const AttrValue& value) {
  auto integer = [&](int64_t number) {
    to.set_type(AttributeProto::INT);
    to.set_i(number);
  };
  auto append_int = [&](int64_t number) { to.add_ints(number); };
  std::visit(overloaded{
                 [&](int64_t number) { integer(number); },
                 [&](bool number) { integer(number ? 1 : 0); },
                 [&](DType dtype) { integer(onnx_import::dtype_to_onnx(dtype)); },
                 [&](double number) {
                   to.set_type(AttributeProto::FLOAT);
                   to.set_f(static_cast<float>(number));
                 },
                 [&](const std::string& text) {
                   to.set_type(AttributeProto::STRING);
                   to.set_s(text);
                 },
                 [&](const Ints& list) { set_list(to, AttributeProto::INTS, list, append_int); },
                 [&](const Bools& list) { set_list(to, AttributeProto::INTS, list, append_int); },
                 [&](const Floats& list) {
                   set_list(to, AttributeProto::FLOATS, list,
                            [&](double number) { to.add_floats(static_cast<float>(number)); });
                 },
                 [&](const Strings& list) {
                   set_list(to, AttributeProto::STRINGS, list,
                            [&](const std::string& text) { to.add_strings(text); });
                 },
                 [&](const ConstantRef&) { BYOC_CHECK(false, "a constant as an attribute"); },
             },
             value);
}

}  // namespace

void add_attribute(onnx::NodeProto& node, std::string_view name, const AttrValue& value) {
  auto is_empty_list = [&]<class List>() {
    auto* list = std::get_if<List>(&value);
    return list != nullptr && list->empty();
  };
  if (is_empty_list.template operator()<Ints>() || is_empty_list.template operator()<Floats>() ||
      is_empty_list.template operator()<Strings>())
    return;
  AttributeProto& to = *node.add_attribute();
  to.set_name(std::string(name));
  set_value(to, value);
}

bool reads_nibbles(const Function& function, const Node& node, size_t operand) {
  auto* call = std::get_if<byoc::Call>(&node.kind);
  if (call == nullptr) return false;
  const std::string& name = call->op->name;
  const size_t codes = name == "matmul_blocks" ? 1 : 0;
  return (name == "matmul_blocks" || name == "dequantize_blocks") && operand == codes &&
         call->attrs->i("bits") == 4 &&
         std::holds_alternative<Constant>(function.nodes[function.args(node)[codes].node].kind);
}

Call::Call(const Function& function, uint32_t node, Names inputs, Names outputs, FreshNames& names,
           int opset, Nodes& out)
    : function_(function),
      node_(function.nodes[node]),
      call_(std::get<byoc::Call>(node_.kind)),
      inputs_(std::move(inputs)),
      outputs_(std::move(outputs)),
      names_(names),
      opset_(opset),
      out_(out) {}

const TensorType& Call::input_type(size_t k) const {
  return *function_.type(function_.args(call_.args)[k]);
}

const TensorType& Call::output_type(size_t k) const { return *node_.types[k]; }

onnx::NodeProto& Call::add(std::string_view op_type, const Names& inputs, const Names& outputs) {
  onnx::NodeProto& node = *out_.Add();
  node.set_op_type(std::string(op_type));
  node.set_name(node_.loc.str());
  for (const std::string& name : inputs) node.add_input(name);
  for (const std::string& name : outputs) node.add_output(name);
  return node;
}

onnx::NodeProto& Call::add(std::string_view op_type,
                           std::initializer_list<const char*> attributes) {
  onnx::NodeProto& node = add(op_type, inputs_, outputs_);
  for (const char* name : attributes) {
    if (const AttrValue* value = attrs().find(name)) add_attribute(node, name, *value);
  }
  return node;
}

std::string Call::value(std::string_view op_type, const Names& inputs) {
  std::string name = names_.next(cat(outputs_[0], "_", op_type));
  add(op_type, inputs, {name});
  return name;
}

std::string Call::cast(const std::string& input, DType to) {
  std::string name = value("Cast", {input});
  add_attribute(last(), "to", to);
  return name;
}

const Buffer* Call::input_data(size_t k) const {
  auto* constant = std::get_if<Constant>(&function_.nodes[function_.args(call_.args)[k].node].kind);
  return constant == nullptr ? nullptr : constant->data;
}

std::string Call::constant(const TensorType& type, const std::vector<std::byte>& bytes) {
  return constant(onnx_import::dtype_to_onnx(type.dtype), static_extents(type.shape), bytes);
}

std::string Call::constant(int32_t onnx_dtype, const Ints& extents,
                           const std::vector<std::byte>& bytes) {
  std::string name = names_.next(cat(outputs_[0], "_c"));
  onnx::NodeProto& node = add("Constant", Names{}, {name});
  node.clear_name();
  AttributeProto& to = *node.add_attribute();
  to.set_name("value");
  to.set_type(AttributeProto::TENSOR);
  onnx::TensorProto& tensor = *to.mutable_t();
  tensor.set_data_type(onnx_dtype);
  for (int64_t extent : extents) tensor.add_dims(extent);
  tensor.set_raw_data(bytes.data(), bytes.size());
  return name;
}

std::string Call::ints(const Ints& values) {
  auto bytes = std::as_bytes(std::span(values));
  return constant({DType::kI64, {static_cast<int64_t>(values.size())}},
                  {bytes.begin(), bytes.end()});
}

std::string Call::floats(const Floats& values) {
  std::vector<float> narrowed(values.begin(), values.end());
  auto bytes = std::as_bytes(std::span(narrowed));
  return constant({DType::kF32, {static_cast<int64_t>(values.size())}},
                  {bytes.begin(), bytes.end()});
}

std::string Call::scalar(DType dtype, double value) { return filled({dtype, {}}, value); }

std::string Call::filled(const TensorType& type, double value) {
  const Result<int64_t> count = num_elements(type.shape);
  if (!count.ok()) problem_ = cat("with a constant of ", type);
  return values(count.ok() ? type : TensorType{type.dtype, {0}},
                std::vector<double>(static_cast<size_t>(count.ok() ? *count : 0), value));
}

std::string Call::values(const TensorType& type, const std::vector<double>& elements) {
  const size_t size = dtype_size(type.dtype);
  std::vector<std::byte> bytes(size * elements.size());
  for (size_t k = 0; k < elements.size(); ++k) {
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", elements[k]);
    if (!parse_element(text, type.dtype, bytes.data() + k * size))
      problem_ = cat("\"", text, "\" is no value of ", type.dtype);
  }
  return constant(type, bytes);
}

std::string Call::nibbles(const Ints& extents, const std::vector<uint8_t>& elements) {
  std::vector<std::byte> bytes((elements.size() + 1) / 2);
  for (size_t k = 0; k < elements.size(); ++k)
    bytes[k / 2] |= static_cast<std::byte>(elements[k] << (k % 2 * 4));
  return constant(kUint4, extents, bytes);
}

}  // namespace byoc::onnx_export
