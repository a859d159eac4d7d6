// Constant.
#include "core/import/onnx/convert.h"

namespace byoc::onnx_import {
namespace {

/// A rank-0 or rank-1 constant of `values`, the bytes of which are elements of `dtype`.
template <class T>
ValueId small_constant(Graph& graph, DType dtype, const std::vector<T>& values, bool is_scalar) {
  Shape shape;
  if (!is_scalar) shape.push_back(static_cast<int64_t>(values.size()));
  return graph.constant({dtype, shape}, Buffer::copy(std::as_bytes(std::span(values))));
}

std::vector<float> to_floats(const Floats& values) { return {values.begin(), values.end()}; }

/// One of `value`, `value_float(s)`, `value_int(s)`; strings and sparse tensors have no byoc type.
Converted constant(Graph& graph, const OnnxNode& node) {
  if (node.has("value")) {
    BYOC_TRY(auto tensor, node.tensor("value"));
    return std::vector{graph.constant(tensor.first, std::move(tensor.second))};
  }
  if (node.has("value_int")) {
    return std::vector{small_constant(graph, DType::kI64, Ints{node.i("value_int", 0)}, true)};
  }
  if (node.has("value_ints")) {
    return std::vector{small_constant(graph, DType::kI64, node.ints("value_ints"), false)};
  }
  if (node.has("value_float")) {
    return std::vector{
        small_constant(graph, DType::kF32, to_floats({node.f("value_float", 0)}), true)};
  }
  if (node.has("value_floats")) {
    return std::vector{
        small_constant(graph, DType::kF32, to_floats(node.floats("value_floats")), false)};
  }
  return unimplemented("the constant is a string, a sparse tensor, or nothing");
}

constexpr Row kRows[] = {{"Constant", 1, kNewest, constant}};

}  // namespace

std::span<const Row> constant_rows() { return kRows; }

}  // namespace byoc::onnx_import
