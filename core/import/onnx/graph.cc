// SPDX-License-Identifier: Apache-2.0
#include "core/import/onnx/graph.h"

#include <cstring>

#include "byoc/base/check.h"
#include "byoc/ir/control.h"
#include "byoc/ir/visit.h"
#include "byoc/op/evaluate.h"
#include "core/import/onnx/file/protobuf_text.h"
#include "runtime/base/element_type.h"

namespace byoc::onnx_import {
namespace {

constexpr ValueId kNowhere{UINT32_MAX, 0};  // calls return it after an error

/// Returns all elements as To.
template <class To>
std::vector<To> elements(DType dtype, std::span<const std::byte> bytes) {
  std::vector<To> out(bytes.size() / dtype_size(dtype));
  with_element_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* from = reinterpret_cast<const T*>(bytes.data());
    for (size_t k = 0; k < out.size(); ++k) out[k] = static_cast<To>(from[k]);
  });
  return out;
}

bool is_small(TypeId type) {
  if (!is_static(type->shape)) return false;
  auto n = num_elements(type->shape);
  return n.ok() && *n <= GraphBuilder::kFoldElements;
}

}  // namespace

ValueId GraphBuilder::param(const std::string& name, const TensorType& type) {
  return {function_.add_param(name, type, name), 0};
}

void GraphBuilder::begin_node(std::span<const Value> operands, const std::string& name) {
  operands_.assign(operands.begin(), operands.end());
  loc_ = name;
  status_ = {};
}

ValueId GraphBuilder::fail(Status status) {
  if (status_.ok()) status_ = std::move(status);
  return kNowhere;
}

bool GraphBuilder::is_valid(ValueId value) const {
  return value.node < function_.nodes.size() &&
         value.output < function_.nodes[value.node].types.size();
}

ValueId GraphBuilder::input(size_t k) {
  if (Value value = optional_input(k)) return *value;
  return fail(invalid(cat("input ", k, " is missing")).with_slug("onnx-graph"));
}

Value GraphBuilder::optional_input(size_t k) {
  return k < operands_.size() ? operands_[k] : std::nullopt;
}

std::vector<ValueId> GraphBuilder::inputs() {
  std::vector<ValueId> all;
  for (size_t k = 0; k < operands_.size(); ++k) {
    if (operands_[k]) {
      all.push_back(*operands_[k]);
      continue;
    }
    fail(invalid(cat("input ", k, " has an empty name; this operator has no optional inputs"))
             .with_slug("onnx-graph"));
  }
  return all;
}

ValueId GraphBuilder::call(std::string_view op, const std::vector<ValueId>& args, Attrs attrs) {
  if (!status_.ok()) return kNowhere;
  auto added = add(op, args, std::move(attrs));
  return added.ok() ? *added : fail(std::move(added.status()));
}

Result<ValueId> GraphBuilder::add(std::string_view name, const std::vector<ValueId>& args,
                                  Attrs attrs) {
  BYOC_TRY(const OpDef* op, ops_.get(name));
  std::vector<TypeId> types;
  for (ValueId arg : args) {
    if (!is_valid(arg)) return invalid(cat(name, ": an operand is not a value of the graph"));
    types.push_back(function_.type(arg));
  }
  BYOC_TRY(attrs, complete_attrs(*op, std::move(attrs)));
  Result<std::vector<TypeId>> inferred = infer_types(*op, types, attrs);
  if (!inferred.ok()) note_limits(limits_, *op, types, attrs);
  BYOC_TRY(std::vector<TypeId> results, std::move(inferred));
  if (op->sizes) {
    BYOC_TRY(results, counted_results(*op, args, types, attrs, std::move(results)));
  }
  std::vector<std::shared_ptr<const Buffer>> values;
  if (is_foldable(*op, args, results) && !is_dequantized_weight(*op, types)) {
    std::vector<const Buffer*> operands;
    for (ValueId arg : args) operands.push_back(data(arg));
    auto folded = evaluate(*op, attrs, types, results, operands);
    if (folded.ok()) values = *std::move(folded);  // else it stays an op; later steps report why
  }
  BYOC_CHECK(values.empty() || values.size() == results.size(), name, ": ", values.size(),
             " values for ", results.size(), " results");
  if (values.size() == 1) return constant(*results[0], values[0]);
  uint32_t node = function_.add_call(op, intern(std::move(attrs)), args, results, loc_);
  if (op->name == "gather" || op->name == "slice") {
    if (Value numbers = constant_of_numbers({node, 0})) return *numbers;
  }
  for (uint32_t k = 0; k < values.size(); ++k) known_[{node, k}] = values[k];
  return ValueId{node, 0};
}

// Returns a constant for entries of a shape that are numbers although others are open, so that what
// follows is folded.
Value GraphBuilder::constant_of_numbers(ValueId value) {
  const TensorType type = this->type(value);
  const bool is_list = type.shape.size() <= 1 && is_static(type.shape);
  if (!is_list || (type.dtype != DType::kI64 && type.dtype != DType::kI32)) return std::nullopt;
  const std::vector<SizeEntry> entries = size_entries(value);
  const Result<int64_t> count = num_elements(type.shape);
  if (!count.ok() || entries.size() != static_cast<size_t>(*count)) return std::nullopt;
  Ints numbers;
  for (const SizeEntry& entry : entries) {
    if (!entry.number) return std::nullopt;
    numbers.push_back(*entry.number);
  }
  const std::vector<int32_t> narrow(numbers.begin(), numbers.end());
  return constant(type, Buffer::copy(type.dtype == DType::kI64 ? std::as_bytes(std::span(numbers))
                                                               : std::as_bytes(std::span(narrow))));
}

Result<std::vector<TypeId>> GraphBuilder::counted_results(const OpDef& op,
                                                          const std::vector<ValueId>& args,
                                                          Types types, const Attrs& attrs,
                                                          std::vector<TypeId> bounds) const {
  if (op.name == "as_counted" || args.empty()) return bounds;  // counted for constants, too
  std::vector<const void*> elements;
  for (ValueId arg : args) {
    const Buffer* buffer = data(arg);
    if (buffer == nullptr || !is_small(function_.type(arg))) return bounds;
    elements.push_back(buffer->data());
  }
  BYOC_TRY(std::vector<TensorType> counted, op.sizes(types, elements.data(), attrs));
  return std::vector<TypeId>(counted.begin(), counted.end());
}

bool GraphBuilder::is_foldable(const OpDef& op, const std::vector<ValueId>& args,
                               std::span<const TypeId> results) const {
  if (!op.reference || op.is_annotation) return false;
  for (TypeId result : results) {
    if (!is_small(result)) return false;
  }
  // Ops such as shape read the type only: static extents are enough to fold them.
  if (reads_types_alone(op)) return args.size() == 1 && is_static(function_.type(args[0])->shape);
  for (ValueId arg : args) {
    if (data(arg) == nullptr || !is_small(function_.type(arg))) return false;
  }
  return true;
}

ValueId GraphBuilder::constant(const TensorType& type, std::shared_ptr<const Buffer> data) {
  auto size = size_bytes(type);
  if (!size.ok()) return fail(std::move(size.status()));
  if (static_cast<uint64_t>(*size) != data->size()) {
    return fail(
        invalid(cat("a constant of ", type, " needs ", *size, " bytes, it has ", data->size())));
  }
  return {function_.add_constant(module_.add_constant(std::move(data)), type, loc_), 0};
}

ValueId GraphBuilder::constant_ints(const Ints& values) {
  auto bytes = std::as_bytes(std::span(values));
  return constant({DType::kI64, {Dim(static_cast<int64_t>(values.size()))}}, Buffer::copy(bytes));
}

ValueId GraphBuilder::scalar(DType dtype, double value) {
  auto buffer = Buffer::make(dtype_size(dtype), [&](std::byte* out) {
    with_element_type(dtype, [&](auto zero) {
      using T = decltype(zero);
      T element = dtype == DType::kBool ? static_cast<T>(value != 0) : static_cast<T>(value);
      std::memcpy(out, &element, sizeof element);
    });
  });
  return constant({dtype, {}}, std::move(buffer));
}

const TensorType& GraphBuilder::type(ValueId value) {
  static const TensorType kScalar;  // the type of kNowhere
  return is_valid(value) ? *function_.type(value) : kScalar;
}

const Buffer* GraphBuilder::data(ValueId value) const {
  if (!is_valid(value)) return nullptr;
  if (auto* constant = std::get_if<Constant>(&function_.nodes[value.node].kind))
    return constant->data;
  auto found = known_.find(value);
  return found == known_.end() ? nullptr : found->second.get();
}

const Buffer* GraphBuilder::constant_data(ValueId value) {
  auto known = known_.find(value);
  return known == known_.end() ? data(value) : module_.add_constant(known->second);
}

ValueId GraphBuilder::constant(const TensorType& type, const Buffer& data,
                               const std::string& name) {
  return {function_.add_constant(&data, type, name), 0};
}

std::vector<ValueId> GraphBuilder::control(const Control& control, const std::vector<ValueId>& args,
                                           const std::vector<TypeId>& types) {
  if (!status_.ok()) return {};
  for (ValueId arg : args) {
    if (!is_valid(arg)) fail(invalid("an operand is not a value of the graph"));
  }
  if (!status_.ok()) return {};
  uint32_t node = function_.add_control(control, args, types, loc_);
  auto known = control_types(module_, function_, function_.nodes[node]);
  if (!known.ok()) {
    fail(std::move(known.status()));
    return {};
  }
  function_.nodes[node].types = *known;
  std::vector<ValueId> results;
  for (uint32_t k = 0; k < known->size(); ++k) results.push_back({node, k});
  return results;
}

const NarrowType* GraphBuilder::narrow(ValueId value) {
  auto found = narrow_.find(value);
  return found == narrow_.end() ? nullptr : found->second;
}

ValueId GraphBuilder::set_narrow(ValueId value, const NarrowType* type) {
  if (type != nullptr) narrow_[value] = type;
  return value;
}

ValueId GraphBuilder::make_sequence(Sequence sequence) {
  if (!status_.ok()) return kNowhere;
  const ValueId value = constant_ints({});
  sequences_[value] = std::move(sequence);
  return value;
}

void GraphBuilder::note_table(Dim size, int64_t entries) { note_most(limits_, size, entries); }

void GraphBuilder::note_equal(Dim size, Dim extent) {
  byoc::onnx_import::note_equal(limits_, size, extent);
}

std::string GraphBuilder::cure(ValueId value) {
  if (!open_sizes_)
    return "give the values of the model's inputs that it depends on with --bind, and its open "
           "sizes with --shape";
  std::string inputs;
  bool reads_sizes = false;
  std::vector<bool> seen(function_.nodes.size());
  std::vector<ValueId> left = {value};
  while (!left.empty()) {
    const ValueId now = left.back();
    left.pop_back();
    if (!is_valid(now) || seen[now.node]) continue;
    seen[now.node] = true;
    const Node& node = function_.nodes[now.node];
    if (auto* param = std::get_if<Param>(&node.kind))
      inputs += cat(" --bind ", param->name, "=...");
    auto* call = std::get_if<Call>(&node.kind);
    const bool reads_type = call != nullptr && reads_types_alone(*call->op);
    reads_sizes = reads_sizes || reads_type;
    if (!reads_type)
      for (ValueId arg : function_.args(node)) left.push_back(arg);
  }
  const bool has_sizes = reads_sizes && !open_sizes_->empty();
  if (inputs.empty() && !has_sizes) return "";
  return cat("it depends on ", inputs.empty() ? "open sizes" : "inputs of the model",
             inputs.empty() || !has_sizes ? "" : " and open sizes", "; give their values:", inputs,
             has_sizes ? cat(" ", *open_sizes_) : "");
}

std::optional<Ints> GraphBuilder::const_ints(ValueId value) {
  const Buffer* buffer = data(value);
  if (buffer == nullptr || is_float(type(value).dtype)) return std::nullopt;
  return elements<int64_t>(type(value).dtype, buffer->bytes());
}

std::optional<Floats> GraphBuilder::const_floats(ValueId value) {
  const Buffer* buffer = data(value);
  if (buffer == nullptr || !is_float(type(value).dtype)) return std::nullopt;
  Floats values = elements<double>(type(value).dtype, buffer->bytes());
  if (type(value).dtype == DType::kF32) {
    for (double& element : values) element = shortest_double(static_cast<float>(element));
  }
  return values;
}

Function GraphBuilder::finish(const std::vector<ValueId>& results) && {
  for (ValueId result : results)
    BYOC_CHECK(is_valid(result), "result ", result.node, "#", result.output, " does not exist");
  function_.results = results;
  UseCounts uses(function_);
  Rewriter rewriter(function_);
  for (uint32_t k = 0; k < function_.nodes.size(); ++k) {
    bool is_constant = std::holds_alternative<Constant>(function_.nodes[k].kind);
    if (!is_constant || uses.of_node(k) > 0) rewriter.copy(k);
  }
  return std::move(rewriter).finish();
}

}  // namespace byoc::onnx_import
