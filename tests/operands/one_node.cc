// SPDX-License-Identifier: Apache-2.0
#include "one_node.h"

#include <cstring>
#include <sstream>

#include "unit/import/rows.h"

namespace byoc::test {
namespace {

struct Operand {
  DType dtype = DType::kF32;
  std::vector<int64_t> dims;
  char kind = 'i';  // i: an input, =: a constant, @: varies, -: omitted, s: a sequence
  std::vector<double> values;
};

std::vector<double> numbers(const std::string& text) {
  std::vector<double> out;
  std::istringstream stream(text);
  for (std::string one; std::getline(stream, one, ',');) out.push_back(std::stod(one));
  return out;
}

int64_t elements_of(const Operand& operand) {
  int64_t n = 1;
  for (int64_t dim : operand.dims) n *= dim;
  return n;
}

// Reads "i64[2]=1,2".
Operand operand_of(const std::string& text) {
  Operand out;
  if (text == "-" || text == "sequence") {
    out.kind = text == "-" ? '-' : 's';
    return out;
  }
  const size_t open = text.find('['), close = text.find(']');
  out.dtype = *parse_dtype(text.substr(0, open));
  for (double dim : numbers(text.substr(open + 1, close - open - 1)))
    out.dims.push_back(static_cast<int64_t>(dim));
  if (close + 1 < text.size()) out.kind = text[close + 1];
  if (out.kind == '=') out.values = numbers(text.substr(close + 2));
  constexpr int64_t kMost = 1 << 20;  // larger ones are compiled for, and not run
  for (int64_t k = 0; out.kind == 'i' && k < std::min(elements_of(out), kMost); ++k)
    out.values.push_back(static_cast<double>(k + 1));
  return out;
}

int onnx_dtype(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return onnx::TensorProto::FLOAT;
    case DType::kBool:
      return onnx::TensorProto::BOOL;
    case DType::kI32:
      return onnx::TensorProto::INT32;
    default:
      return onnx::TensorProto::INT64;
  }
}

template <class T>
void append(std::string& bytes, double value) {
  const T element = static_cast<T>(value);
  bytes.append(reinterpret_cast<const char*>(&element), sizeof element);
}

std::string bytes_of(const Operand& operand) {
  std::string bytes;
  for (double value : operand.values) {
    if (operand.dtype == DType::kF32) append<float>(bytes, value);
    else if (operand.dtype == DType::kBool) append<uint8_t>(bytes, value);
    else if (operand.dtype == DType::kI32) append<int32_t>(bytes, value);
    else append<int64_t>(bytes, value);
  }
  return bytes;
}

void set_attribute(onnx::NodeProto& node, const std::string& name, const AttrValue& value) {
  if (auto* flag = std::get_if<bool>(&value)) set(node, name, static_cast<int>(*flag));
  else if (auto* number = std::get_if<int64_t>(&value)) set(node, name, static_cast<int>(*number));
  else if (auto* real = std::get_if<double>(&value)) set(node, name, static_cast<float>(*real));
  else if (auto* text = std::get_if<std::string>(&value)) set(node, name, text->c_str());
  else if (auto* ints = std::get_if<Ints>(&value)) set(node, name, *ints);
  else if (auto* names = std::get_if<Strings>(&value)) set(node, name, *names);
  else if (auto* reals = std::get_if<Floats>(&value))
    set(node, name, std::vector<float>(reals->begin(), reals->end()));
  else ADD_FAILURE() << "an attribute of another kind: " << name;
}

// A model, and the inputs of a run in order.
struct Made {
  OnnxModel model;
  std::vector<Operand> inputs;
};

void add_constant(OnnxModel& model, const std::string& name, const Operand& operand) {
  auto* tensor = model.graph().add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(onnx_dtype(operand.dtype));
  for (int64_t dim : operand.dims) tensor->add_dims(dim);
  tensor->set_raw_data(bytes_of(operand));
}

void add_sequence(OnnxModel& model, const std::string& name) {
  for (const char* part : {"0", "1"}) {
    const double first = part[0] == '0' ? 1 : 3;
    add_constant(model, name + part, {DType::kF32, {2}, '=', {first, first + 1}});
  }
  model.node("SequenceConstruct", {name + "0", name + "1"}, {name}, "before");
}

void add_operand(Made& made, const std::string& name, Operand operand, bool as_constant) {
  if (operand.kind == 's') return add_sequence(made.model, name);
  if (operand.kind == '=' || (operand.kind == '@' && as_constant))
    return add_constant(made.model, name, operand);
  std::vector<DimSpec> dims;
  for (int64_t dim : operand.dims) dims.emplace_back(static_cast<int>(dim));
  made.model.input(name, dims, onnx_dtype(operand.dtype));
  made.inputs.push_back(std::move(operand));
}

Made make(const OperandRow& row, const std::vector<double>& elements, bool as_constant) {
  Made made{OnnxModel(row.opset), {}};
  made.model.proto.set_ir_version(10);
  std::vector<std::string> names, results;
  std::istringstream stream(row.operands);
  for (std::string text; stream >> text;) {
    Operand operand = operand_of(text);
    if (operand.kind == '@') operand.values = elements;
    names.push_back(operand.kind == '-' ? "" : cat("x", names.size()));
    if (operand.kind != '-') add_operand(made, names.back(), operand, as_constant);
  }
  for (int k = 0; k < row.outputs; ++k) results.push_back(cat("r", k));
  auto& node = made.model.node(row.op, names, results, "the_node");
  for (const auto& [name, value] : row.attrs) set_attribute(node, name.str(), value);
  const bool has_next = *row.then != 0;
  if (has_next) set(made.model.node(row.then, {"r0"}, {"y"}, "after"), "axis", 0);
  made.model.output(has_next ? "y" : "r0");
  return made;
}

std::vector<double> doubles(const Tensor& tensor) {
  std::vector<double> out;
  const size_t size = dtype_size(tensor.spec().dtype);
  for (size_t at = 0; at < tensor.size_bytes(); at += size) {
    const std::byte* from = tensor.data() + at;
    float real = 0;
    int64_t whole = 0;
    if (tensor.spec().dtype == DType::kF32) std::memcpy(&real, from, sizeof real);
    else std::memcpy(&whole, from, size);
    out.push_back(tensor.spec().dtype == DType::kF32 ? real : static_cast<double>(whole));
  }
  return out;
}

// Runs once. The memory of inputs is copied, so that constants of a test are not aligned by luck.
Outcome run_once(const Executable& executable, std::shared_ptr<const PluginSet> plugins,
                 const std::vector<Operand>& inputs) {
  BYOC_TRY(auto session, Session::load(executable, std::move(plugins), {.threads = 1}));
  BYOC_TRY(auto context, session->make_context());
  std::vector<Tensor> tensors, results;
  std::vector<DLTensor> in, out;
  for (const Operand& operand : inputs) {
    BYOC_TRY(Tensor tensor, Tensor::make({operand.dtype, operand.dims}));
    const std::string bytes = bytes_of(operand);
    std::memcpy(tensor.data(), bytes.data(), bytes.size());
    tensors.push_back(std::move(tensor));
  }
  for (const NamedTensor& output : session->outputs()) {
    BYOC_TRY(Tensor tensor, Tensor::make(output.type));
    results.push_back(std::move(tensor));
  }
  for (const Tensor& tensor : tensors) in.push_back(tensor.view());
  for (const Tensor& tensor : results) out.push_back(tensor.view());
  BYOC_TRY_STATUS(session->run(*context, in, out));
  results[0].shrink(session->output_dims(*context, 0));
  return doubles(results[0]);
}

Result<Executable> compiled(const Made& made, std::shared_ptr<const PluginSet> plugins,
                            std::vector<std::string> compilers, bool is_strict) {
  BYOC_TRY(IRModule module, made.model.import());
  BuildOptions options;
  options.plugins = std::move(plugins);
  options.compilers = std::move(compilers);
  options.strict = is_strict;
  return build(std::move(module), options);
}

}  // namespace

Outcome run_node(const OperandRow& row, const std::vector<double>& elements, bool as_constant,
                 std::shared_ptr<const PluginSet> plugins, std::vector<std::string> compilers) {
  const Made made = make(row, elements, as_constant);
  BYOC_TRY(Executable executable, compiled(made, plugins, std::move(compilers), false));
  return run_once(executable, std::move(plugins), made.inputs);
}

Status compile_node(const OperandRow& row, const std::vector<double>& elements,
                    std::shared_ptr<const PluginSet> plugins, std::vector<std::string> compilers) {
  return compiled(make(row, elements, true), std::move(plugins), std::move(compilers), true)
      .status();
}

}  // namespace byoc::test
