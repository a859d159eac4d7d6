// SPDX-License-Identifier: Apache-2.0
// CenterCropPad, AffineGrid, Col2Im, DeformConv.
// Source: ONNX opsets 18 (CenterCropPad, Col2Im), 19 (DeformConv) and 20 (AffineGrid).
#include "core/import/onnx/operands.h"
#include "core/import/onnx/rows/computed.h"
#include "core/import/onnx/rows/conv.h"
#include "core/import/onnx/rows/steps.h"
#include "core/import/onnx/window.h"

namespace byoc::onnx_import {
namespace {

constexpr int64_t kMostExtent = int64_t{1} << 40;  // sums and products of three stay in 63 bits

// Cuts the middle out of an axis, or centres it between zeros. Of an odd number of cells, the
// smaller half is before.
Result<ValueId> centred(Graph& graph, ValueId x, size_t axis, int64_t wanted) {
  const TensorType type = graph.type(x);
  if (!type.shape[axis].is_static())
    return unimplemented(cat("dim ", axis, " must be known, the input is ", type))
        .with_help("give the sizes with --shape");
  const int64_t extent = type.shape[axis].extent();
  if (wanted < 0 || wanted >= kMostExtent || extent >= kMostExtent)
    return invalid(cat("shape holds ", wanted, " for an extent of ", extent));
  if (wanted == extent) return x;
  auto dim = static_cast<int64_t>(axis);
  if (wanted < extent) {
    int64_t begin = (extent - wanted) / 2;
    return sliced(graph, x, dim, begin, begin + wanted);
  }
  Ints pads(2 * type.shape.size(), 0);
  pads[axis] = (wanted - extent) / 2;
  pads[type.shape.size() + axis] = wanted - extent - pads[axis];
  return graph.call("pad", {x}, {{"pads", pads}});
}

Converted center_crop_pad(Graph& graph, const OnnxNode& node) {
  ValueId y = graph.input(0);
  BYOC_TRY(Ints shape, constant_ints(graph, node, 1, "shape"));
  Ints axes = node.ints("axes");
  const size_t rank = graph.rank(y);
  for (size_t d = 0; !node.has("axes") && d < rank; ++d) axes.push_back(static_cast<int64_t>(d));
  if (axes.size() != shape.size())
    return invalid(cat("shape has ", shape.size(), " entries for ", axes.size(), " axes"));
  for (size_t k = 0; k < axes.size(); ++k) {
    BYOC_TRY(size_t axis, normal_axis(axes[k], rank));
    BYOC_TRY(y, centred(graph, y, axis, shape[k]));
  }
  return std::vector{y};
}

// Returns the position of cell k of n between -1 and 1, which are centres of the outer cells, or
// their outer edges. A single cell is in the middle.
double grid_position(int64_t k, int64_t n, bool align_corners) {
  auto at = static_cast<double>(k), cells = static_cast<double>(n);
  if (!align_corners) return (2 * at + 1) / cells - 1;
  return n == 1 ? 0 : 2 * at / (cells - 1) - 1;
}

// Returns [cells, dims + 1] for a grid of these extents: the position of each cell, last dim first,
// then 1.
ValueId base_grid(Graph& graph, const Ints& extents, bool align_corners, DType dtype) {
  const size_t rank = extents.size();
  int64_t cells = 1;
  for (int64_t extent : extents) cells *= extent;
  std::vector<float> values(static_cast<size_t>(cells) * (rank + 1), 1);
  for (int64_t cell = 0; cell < cells; ++cell) {
    int64_t rest = cell;
    for (size_t d = 0; d < rank; ++d) {
      int64_t extent = extents[rank - 1 - d];
      values[static_cast<size_t>(cell) * (rank + 1) + d] =
          static_cast<float>(grid_position(rest % extent, extent, align_corners));
      rest /= extent;
    }
  }
  TensorType type{DType::kF32, {cells, static_cast<int64_t>(rank + 1)}};
  return cast_to(graph, graph.constant(type, Buffer::copy(std::as_bytes(std::span(values)))),
                 dtype);
}

Converted affine_grid(Graph& graph, const OnnxNode& node) {
  ValueId theta = graph.input(0);
  const TensorType type = graph.type(theta);
  BYOC_TRY(Ints size, constant_ints(graph, node, 1, "size"));
  const auto rank = static_cast<int64_t>(size.size()) - 2;
  if ((rank != 2 && rank != 3) || type.shape.size() != 3 || type.shape[1] != Dim(rank) ||
      type.shape[2] != Dim(rank + 1))
    return invalid(
        cat("theta must be [n, 2, 3] with a size of 4 entries, or [n, 3, 4] with 5; it is ", type,
            " with ", size.size()));
  Ints extents(size.begin() + 2, size.end());
  int64_t cells = 1;
  for (int64_t extent : extents) {
    if (extent < 0 || __builtin_mul_overflow(cells, extent, &cells) || cells > kMostComputed)
      return invalid(
          cat("size holds ", extent, ", the grid has more than 2^24 cells or less than 0"));
  }
  ValueId base = base_grid(graph, extents, node.i("align_corners", 0) != 0, type.dtype);
  ValueId grid = graph.call("matmul", {base, transposed(graph, theta, {0, 2, 1})});
  Ints shape = {type.shape[0].is_static() ? type.shape[0].extent() : -1};
  shape.insert(shape.end(), extents.begin(), extents.end());
  shape.push_back(rank);
  return std::vector{graph.call("reshape", {grid}, {{"shape", shape}, {"allow_zero", true}})};
}

Converted col2im(Graph& graph, const OnnxNode& node) {
  BYOC_TRY(Ints image, constant_ints(graph, node, 1, "image_shape"));
  BYOC_TRY(Ints block, constant_ints(graph, node, 2, "block_shape"));
  Attrs attrs{{"image_shape", image},
              {"block_shape", block},
              {"strides", node.ints("strides")},
              {"pads", node.ints("pads")},
              {"dilations", node.ints("dilations")}};
  return std::vector{graph.call("col2im", {graph.input(0)}, attrs)};
}

// Multiplies rows [n, groups, cells..., entries, channels] of deform_rows by the weight, group by
// group, and returns y [n, outputs, cells...]; `w` are the extents of the weight.
ValueId product_of_rows(Graph& graph, ValueId rows, ValueId weight, const Ints& w, Value bias) {
  const Ints extents = static_extents(graph.type(rows).shape);
  const size_t rank = w.size();
  const int64_t groups = extents[1], outputs = w[0] / groups, channels = extents.back();
  int64_t taps = 1, cells = 1;
  for (size_t d = 2; d < rank; ++d) taps *= w[d], cells *= extents[d];
  auto at = [&](ValueId value, const Ints& dims) {
    return graph.call("reshape", {value}, {{"shape", dims}, {"allow_zero", true}});
  };
  // The weight [groups, outputs, blocks, channels, taps] gets the order of the rows' elements.
  const int64_t blocks = taps == 0 ? 1 : extents[rank] / taps, row = extents[rank] * channels;
  ValueId filter = at(weight, {groups, outputs, blocks, channels, taps});
  filter = transposed(graph, filter, {0, 2, 4, 3, 1});
  const bool is_one = groups == 1;
  const Ints matrix = is_one ? Ints{row, outputs} : Ints{groups, row, outputs};
  const Ints left = is_one ? Ints{extents[0] * cells, row} : Ints{extents[0], groups, cells, row};
  ValueId product = graph.call("matmul", {at(rows, left), at(filter, matrix)});
  if (bias) {
    const Ints shape = is_one ? Ints{outputs} : Ints{groups, 1, outputs};
    product = graph.call("add", {product, at(*bias, shape)});
  }
  product = transposed(graph, at(product, {extents[0], groups, cells, outputs}), {0, 1, 3, 2});
  Ints y(extents.begin(), extents.begin() + static_cast<ptrdiff_t>(rank));
  y[1] = w[0];
  return at(product, y);
}

// Samples a row per window, then multiplies the rows by the weight, group by group.
Converted deform_conv(Graph& graph, const OnnxNode& node) {
  ValueId x = graph.input(0), weight = graph.input(1);
  const TensorType x_type = graph.type(x), w_type = graph.type(weight);
  const size_t rank = x_type.shape.size();
  if (rank < 3 || w_type.shape.size() != rank || !is_static(w_type.shape))
    return invalid(cat("X and W must have one rank, 3 or more, and known channels; they are ",
                       x_type, " and ", w_type));
  Ints w = static_extents(w_type.shape), kernel(w.begin() + 2, w.end());
  if (node.has("kernel_shape") && node.ints("kernel_shape") != kernel)
    return invalid(cat("kernel_shape does not fit W, which is ", w_type));
  const int64_t groups = node.i("group", 1);
  if (groups < 1 || w[0] % groups != 0 || x_type.shape[1] != Dim(w[1] * groups))
    return invalid(
        cat("X and W do not fit ", groups, " groups; they are ", x_type, " and ", w_type));
  BYOC_TRY(WindowAttrs window, read_window(node, x_type, kernel));
  Attrs attrs = to_attrs(window);
  attrs.set("kernel_shape", kernel);
  attrs.set("offset_group", node.i("offset_group", 1));
  attrs.set("group", groups);
  std::vector<ValueId> operands = {x, graph.input(2)};
  if (Value mask = graph.optional_input(4)) operands.push_back(*mask);
  ValueId rows = graph.call("deform_rows", operands, attrs);
  const Shape shape = graph.type(rows).shape;
  if (shape.size() != rank + 2) return std::vector{rows};  // it failed
  if (!is_static(shape)) return unimplemented(cat("the shape of X must be known, it is ", x_type));
  return std::vector{product_of_rows(graph, rows, weight, w, graph.optional_input(3))};
}

constexpr Row kImageRows[] = {
    {"CenterCropPad", 18, kNewest, center_crop_pad},
    {"AffineGrid", 20, kNewest, affine_grid},
    {"Col2Im", 18, kNewest, col2im},
    {"DeformConv", 19, kNewest, deform_conv},
};

}  // namespace

std::span<const Row> image_rows() { return kImageRows; }

}  // namespace byoc::onnx_import
