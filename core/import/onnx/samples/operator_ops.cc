// SPDX-License-Identifier: Apache-2.0
// Converts samples of an operator, and lists the ops of the functions that this makes.
#include <algorithm>
#include <set>

#include "byoc/base/check.h"
#include "byoc/import.h"
#include "byoc/op/registry.h"
#include "core/import/onnx/graph.h"
#include "core/import/onnx/samples/node_samples.h"
#include "core/import/onnx/tables.h"

namespace byoc::onnx_import {
namespace {

/// A node made of a sample.
class SampleNode final : public OnnxNode {
 public:
  SampleNode(std::string op_type, int opset, const NodeSample& sample, std::vector<bool> inputs)
      : op_type_(std::move(op_type)), opset_(opset), sample_(sample), inputs_(std::move(inputs)) {}
  const std::string& op_type() const override { return op_type_; }
  const std::string& domain() const override { return domain_; }
  const std::string& name() const override { return op_type_; }
  int opset() const override { return opset_; }
  size_t num_inputs() const override { return inputs_.size(); }
  size_t num_outputs() const override { return sample_.outputs; }
  bool has_input(size_t k) const override { return k < inputs_.size() && inputs_[k]; }
  bool has_output(size_t k) const override { return k < sample_.outputs; }
  bool has(std::string_view attr) const override { return sample_.attrs.has(attr); }
  int64_t i(std::string_view attr, int64_t fallback) const override {
    return sample_.attrs.i(attr, fallback);
  }
  double f(std::string_view attr, double fallback) const override {
    return sample_.attrs.f(attr, fallback);
  }
  std::string s(std::string_view attr, std::string_view fallback) const override {
    return has(attr) ? sample_.attrs.s(attr) : std::string(fallback);
  }
  Ints ints(std::string_view attr) const override { return sample_.attrs.ints(attr); }
  Floats floats(std::string_view attr) const override { return sample_.attrs.floats(attr); }
  Strings strings(std::string_view attr) const override { return sample_.attrs.strings(attr); }
  int32_t tensor_dtype(std::string_view) const override { return 0; }
  Result<std::pair<TensorType, std::shared_ptr<const Buffer>>> tensor(
      std::string_view) const override {
    return unimplemented("a sample has no tensors as attributes");
  }

 private:
  std::string op_type_, domain_;
  int opset_;
  const NodeSample& sample_;
  std::vector<bool> inputs_;  // false: omitted
};

std::vector<std::string> divided(std::string_view text, char separator) {
  std::vector<std::string> out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(separator, at), text.size());
    out.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

ValueId add_constant(GraphBuilder& graph, DType dtype, const std::string& list, bool is_scalar) {
  std::vector<double> numbers;
  for (const std::string& number : divided(list, ',')) numbers.push_back(std::stod(number));
  if (is_scalar) return graph.scalar(dtype, numbers[0]);
  if (dtype == DType::kI64) return graph.constant_ints(Ints(numbers.begin(), numbers.end()));
  const std::vector<float> floats(numbers.begin(), numbers.end());
  return graph.constant({dtype, {static_cast<int64_t>(floats.size())}},
                        Buffer::copy(std::as_bytes(std::span(floats))));
}

/// Adds operands as node_samples.h describes them, parameters first.
std::vector<Value> add_operands(GraphBuilder& graph, const std::vector<std::string>& texts) {
  std::vector<Value> operands(texts.size());
  for (bool is_param : {true, false}) {
    for (size_t k = 0; k < texts.size(); ++k) {
      const std::string& text = texts[k];
      if (text == "sequence") {  // of one constant
        if (!is_param) operands[k] = graph.make_sequence({{graph.constant_ints({1, 2})}, {}});
        continue;
      }
      const size_t end = text.find_first_of("[=:");
      if (text == "-" || is_param != (text[end] == '[')) continue;
      auto dtype = parse_dtype(text.substr(0, end));
      BYOC_CHECK(dtype && end != text.npos, "the operand ", text, " of a sample");
      if (!is_param) {
        operands[k] = add_constant(graph, *dtype, text.substr(end + 1), text[end] == ':');
        continue;
      }
      Shape shape;
      for (const std::string& extent : divided(text.substr(end + 1, text.size() - end - 2), ','))
        shape.push_back(std::stoll(extent));
      operands[k] = graph.param(cat("x", k), {*dtype, shape});
    }
  }
  return operands;
}

/// Adds the ops of the converted sample to `out`. Errors: those of the conversion.
Status convert_sample(const Row& row, const NodeSample& sample, std::set<std::string>& out) {
  IRModule module;
  GraphBuilder graph(module, all_ops());
  const std::vector<Value> operands = add_operands(graph, divided(sample.operands, ' '));
  std::vector<bool> given;
  for (const Value& operand : operands) given.push_back(operand.has_value());
  graph.begin_node(operands, row.op_type);
  SampleNode node(row.op_type, std::min(row.max_opset, kNewestOpset), sample, given);
  BYOC_TRY(std::vector<ValueId> results, row.convert(graph, node));
  BYOC_TRY_STATUS(Status(graph.status()));
  const Function function = std::move(graph).finish(results);
  for (const Node& made : function.nodes) {
    if (auto* call = std::get_if<Call>(&made.kind)) out.insert(call->op->name);
  }
  return {};
}

/// Adds the ops of the first sample that the row takes.
Status ops_of_row(const Row& row, std::span<const NodeSample> known, std::set<std::string>& out) {
  std::vector<NodeSample> samples;
  for (const NodeSample& sample : known) {
    if (row.op_type == std::string_view(sample.op_type)) samples.push_back(sample);
  }
  for (const char* operands : kUsualOperands) {
    if (samples.empty() || samples[0].op_type == nullptr) samples.push_back({nullptr, operands});
  }
  Status first;
  for (const NodeSample& sample : samples) {
    Status status = convert_sample(row, sample, out);
    if (status.ok()) return status;
    if (first.ok()) first = std::move(status);
  }
  return first;
}

}  // namespace
}  // namespace byoc::onnx_import

namespace byoc {

Result<std::vector<std::string>> ops_of_operator(const std::string& op_type,
                                                 const std::string& domain) {
  std::set<std::string> ops;
  for (const auto& [control, opset] : onnx_import::kControlOps) {
    if (op_type == control && domain.empty()) return std::vector<std::string>();
  }
  const auto rows = onnx_import::rows_of({domain, op_type});
  if (rows.empty()) return not_found(cat("no operator ", op_type));
  const auto samples = domain == onnx_import::kMicrosoftDomain ? onnx_import::microsoft_samples()
                                                               : onnx_import::node_samples();
  for (const onnx_import::Row* row : rows)
    BYOC_TRY_STATUS(onnx_import::ops_of_row(*row, samples, ops));
  return std::vector<std::string>(ops.begin(), ops.end());
}

}  // namespace byoc
