// SPDX-License-Identifier: Apache-2.0
#pragma once
// Short forms for ONNX operators that become several ops: add(graph, a, b) appends one op `add` and
// returns its result, which is the operand of the next form.
#include <algorithm>
#include <limits>

#include "core/import/onnx/convert.h"

namespace byoc::onnx_import {

inline ValueId cast_to(Graph& graph, ValueId x, DType to) {
  return graph.type(x).dtype == to ? x : graph.call("cast", {x}, {{"to", to}});
}
/// Reshapes; 0 copies the dim of x, one -1 is computed.
inline ValueId reshaped(Graph& graph, ValueId x, const Ints& shape) {
  return graph.call("reshape", {x}, {{"shape", shape}});
}
inline ValueId transposed(Graph& graph, ValueId x, const Ints& perm) {
  return graph.call("transpose", {x}, {{"perm", perm}});
}
inline ValueId unsqueezed(Graph& graph, ValueId x, const Ints& axes) {
  return graph.call("unsqueeze", {x}, {{"axes", axes}});
}
inline ValueId expanded(Graph& graph, ValueId x, const Ints& shape) {
  return graph.call("expand", {x}, {{"shape", shape}});
}
/// Returns x[begin:end:step] along one axis.
inline ValueId sliced(Graph& graph, ValueId x, int64_t axis, int64_t begin, int64_t end,
                      int64_t step = 1) {
  return graph.call(
      "slice", {x},
      {{"starts", Ints{begin}}, {"ends", Ints{end}}, {"axes", Ints{axis}}, {"steps", Ints{step}}});
}
inline ValueId concatenated(Graph& graph, const std::vector<ValueId>& parts, int64_t axis) {
  return graph.call("concat", parts, {{"axis", axis}});
}
inline ValueId add(Graph& graph, ValueId a, ValueId b) { return graph.call("add", {a, b}); }
inline ValueId multiply(Graph& graph, ValueId a, ValueId b) {
  return graph.call("multiply", {a, b});
}
/// Returns -infinity of a float type.
inline ValueId minus_infinity(Graph& graph, DType dtype) {
  return graph.scalar(dtype, -std::numeric_limits<double>::infinity());
}
/// Returns `x`, whose numbers are in [0, size + more). Others are an error of the run that names
/// `of`, such as "tensor_scatter.write_indices". Without a known size no number is checked.
inline ValueId in_range(Graph& graph, ValueId x, Dim size, int64_t more, const std::string& of) {
  if (!size.is_static()) return x;
  const int64_t end = std::max<int64_t>(size.extent() + more, 0);
  return graph.call("check_range", {x}, {{"end", end}, {"of", of}});
}
/// Returns the extent of a dim of `name`. Errors: kUnimplemented when it is not known.
inline Result<int64_t> known_extent(Graph& graph, ValueId value, size_t dim, const char* name) {
  const TensorType& type = graph.type(value);
  if (dim >= type.shape.size()) return invalid(cat(name, " has too few dims, it is ", type));
  if (type.shape[dim].is_static()) return type.shape[dim].extent();
  return unimplemented(cat("dim ", dim, " of ", name, " must be known, it is ", type));
}
/// Returns a dim of `name`, which is static or open. Errors: likewise for a counted one.
inline Result<Dim> run_extent(Graph& graph, ValueId value, size_t dim, const char* name) {
  const TensorType& type = graph.type(value);
  if (dim < type.shape.size() && !type.shape[dim].is_counted()) return type.shape[dim];
  return known_extent(graph, value, dim, name).status();
}
/// Returns 0, 1, ... n - 1 as i64.
inline ValueId counted(Graph& graph, int64_t n) {
  Ints values(static_cast<size_t>(n));
  for (int64_t k = 0; k < n; ++k) values[static_cast<size_t>(k)] = k;
  return graph.constant_ints(values);
}

}  // namespace byoc::onnx_import
