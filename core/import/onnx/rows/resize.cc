// SPDX-License-Identifier: Apache-2.0
// Resize and the older Upsample, GridSample, RoiAlign.
#include <algorithm>
#include <cmath>

#include "byoc/ir/open_shape.h"
#include "core/import/onnx/operands.h"

namespace byoc::onnx_import {
namespace {

// Returns input k as floats; empty when it is absent.
Result<Floats> float_list(Graph& graph, const OnnxNode& node, size_t k, const char* what) {
  if (!node.has_input(k)) return Floats{};
  if (auto floats = graph.const_floats(graph.input(k))) return *std::move(floats);
  if (graph.type(graph.input(k)).shape == Shape{0}) return Floats{};
  return computed_operand(graph, graph.input(k), what);
}

// Returns a list for some axes as a list for all axes; the other axes have the values of `rest`.
template <class List>
Result<List> spread_axes(const List& list, const Ints& axes,
                         const std::vector<typename List::value_type>& rest) {
  if (axes.empty() || list.empty()) return list;
  if (list.size() != axes.size())
    return invalid(cat("it names ", axes.size(), " axes and ", list.size(), " sizes or scales"));
  List all = rest;
  for (size_t k = 0; k < axes.size(); ++k) {
    BYOC_TRY(size_t axis, normal_axis(axes[k], rest.size()));
    all[axis] = list[k];
  }
  return all;
}

Result<Floats> spread_roi(const Floats& roi, const Ints& axes, size_t rank) {
  if (axes.empty() || roi.empty()) return roi;
  if (roi.size() != 2 * axes.size())
    return invalid(cat("roi has ", roi.size(), " entries, expected ", 2 * axes.size()));
  Floats all(2 * rank, 0);
  std::fill(all.begin() + static_cast<ptrdiff_t>(rank), all.end(), 1);
  for (size_t k = 0; k < axes.size(); ++k) {
    BYOC_TRY(size_t axis, normal_axis(axes[k], rank));
    all[axis] = roi[k];
    all[rank + axis] = roi[axes.size() + k];
  }
  return all;
}

// Changes sizes so that one scale is that of all axes: the least of those of the sizes
// (not_larger), or the greatest (not_smaller). Sets scales, which place the cells.
Status keep_aspect_ratio(const std::string& policy, const Ints& axes, const Ints& extents,
                         Ints& sizes, Attrs& attrs) {
  if (policy != "not_larger" && policy != "not_smaller")
    return invalid(cat("keep_aspect_ratio_policy is \"", policy,
                       "\", expected stretch, not_larger or not_smaller"));
  std::vector<size_t> changed;
  for (size_t d = 0; axes.empty() && d < extents.size(); ++d) changed.push_back(d);
  for (int64_t given : axes) {
    BYOC_TRY(size_t axis, normal_axis(given, extents.size()));
    changed.push_back(axis);
  }
  std::optional<double> scale;
  for (size_t d : changed) {
    if (extents[d] < 1) return invalid(cat("dim ", d, " of x has no cells"));
    double own = static_cast<double>(sizes[d]) / static_cast<double>(extents[d]);
    if (!scale) scale = own;
    scale = policy == "not_larger" ? std::min(*scale, own) : std::max(*scale, own);
  }
  Floats scales(extents.size(), 1);
  for (size_t d : changed) {
    scales[d] = *scale;
    sizes[d] = static_cast<int64_t>(std::floor(*scale * static_cast<double>(extents[d]) + 0.5));
  }
  attrs.set("scales", scales);
  return {};
}

// Sets sizes of which some are open. Returns false for numbers alone, and for what is no size.
Result<bool> set_open_sizes(Graph& graph, const OnnxNode& node, Attrs& attrs) {
  if (!node.has_input(3) || graph.const_ints(graph.input(3))) return false;
  Shape shape;
  for (const SizeEntry& entry : graph.size_entries(graph.input(3))) {
    if (entry.number && *entry.number >= 0) shape.push_back(Dim(*entry.number));
    else if (entry.dim && is_open(*entry.dim)) shape.push_back(*entry.dim);
    else return false;
  }
  if (is_static(shape)) return false;
  set_open_shape(attrs, shape);
  return true;
}

// Sets scales, or sizes where there are no scales.
Status set_target(Graph& graph, const OnnxNode& node, ValueId x, const Ints& axes, Attrs& attrs) {
  BYOC_TRY(Floats scales, float_list(graph, node, 2, "scales"));
  BYOC_TRY(scales, spread_axes(scales, axes, Floats(graph.rank(x), 1)));
  if (!scales.empty()) {
    attrs.set("scales", scales);
    return {};
  }
  std::string policy = node.s("keep_aspect_ratio_policy", "stretch");
  const bool stretches = node.opset() < 18 || policy == "stretch";
  if (stretches && axes.empty()) {
    BYOC_TRY(const bool is_set, set_open_sizes(graph, node, attrs));
    if (is_set) return {};
  }
  BYOC_TRY(Ints sizes, constant_ints(graph, node, 3, "sizes"));
  const Shape& shape = graph.type(x).shape;
  if (!axes.empty() || !stretches) {
    if (!is_static(shape))
      return unimplemented(cat("its axes need the extents of x, which is ", graph.type(x)));
    BYOC_TRY(sizes, spread_axes(sizes, axes, static_extents(shape)));
  }
  if (!stretches) {
    if (sizes.size() != shape.size())
      return invalid(cat("sizes has ", sizes.size(), " entries, x is ", graph.type(x)));
    BYOC_TRY_STATUS(keep_aspect_ratio(policy, axes, static_extents(shape), sizes, attrs));
  }
  attrs.set("sizes", sizes);
  return {};
}

Converted resize(Graph& graph, const OnnxNode& node) {
  ValueId x = graph.input(0);
  Ints axes = node.ints("axes");
  Attrs attrs{{"mode", node.s("mode", "nearest")},
              {"coordinates", node.s("coordinate_transformation_mode", "half_pixel")},
              {"nearest", node.s("nearest_mode", "round_prefer_floor")},
              {"cubic_coeff_a", node.f("cubic_coeff_a", -0.75)},
              {"exclude_outside", node.i("exclude_outside", 0) != 0},
              {"antialias", node.i("antialias", 0) != 0},
              {"extrapolation_value", node.f("extrapolation_value", 0)}};
  BYOC_TRY_STATUS(set_target(graph, node, x, axes, attrs));
  if (node.s("coordinate_transformation_mode", "") == "tf_crop_and_resize") {
    BYOC_TRY(Floats roi, float_list(graph, node, 1, "roi"));
    BYOC_TRY(roi, spread_roi(roi, axes, graph.rank(x)));
    attrs.set("roi", roi);
  }
  return std::vector{graph.call("resize", {x}, attrs)};
}

// Converts Upsample, and Resize before opset 11: result cell y is at y / scale in x, and `nearest`
// rounds down.
Converted by_scales(Graph& graph, const OnnxNode& node) {
  bool by_attr = node.opset() <= 8;
  BYOC_TRY(Floats scales,
           by_attr ? Result<Floats>(node.floats("scales")) : float_list(graph, node, 1, "scales"));
  std::string mode = node.s("mode", "nearest");
  if (mode == "bilinear") mode = "linear";
  Attrs attrs{
      {"scales", scales}, {"mode", mode}, {"coordinates", "asymmetric"}, {"nearest", "floor"}};
  return std::vector{graph.call("resize", {graph.input(0)}, attrs)};
}

// Converts GridSample, the modes of which have other names from opset 20 on.
Converted grid_sample(Graph& graph, const OnnxNode& node) {
  std::string mode = node.s("mode", node.opset() >= 20 ? "linear" : "bilinear");
  if (node.opset() >= 20 && mode == "linear") mode = "bilinear";
  if (node.opset() >= 20 && mode == "cubic") mode = "bicubic";
  Attrs attrs{{"mode", mode},
              {"padding_mode", node.s("padding_mode", "zeros")},
              {"align_corners", node.i("align_corners", 0) != 0}};
  return std::vector{graph.call("grid_sample", graph.inputs(), attrs)};
}

Converted roi_align(Graph& graph, const OnnxNode& node) {
  std::string mode = node.s("mode", "avg");
  if (mode != "avg" && mode != "max")
    return invalid(cat("its mode is \"", mode, "\", expected avg or max"));
  const char* fallback = node.opset() >= 16 ? "half_pixel" : "output_half_pixel";
  Attrs attrs{{"mode", mode == "avg" ? "average" : "max"},
              {"output_height", node.i("output_height", 1)},
              {"output_width", node.i("output_width", 1)},
              {"sampling_ratio", node.i("sampling_ratio", 0)},
              {"spatial_scale", node.f("spatial_scale", 1)},
              {"half_pixel", node.s("coordinate_transformation_mode", fallback) == "half_pixel"}};
  return std::vector{graph.call("roi_align", graph.inputs(), attrs)};
}

constexpr Row kResizeRows[] = {
    {"Resize", 10, 10, by_scales},        {"Resize", 11, kNewest, resize},
    {"Upsample", 7, 9, by_scales},        {"GridSample", 16, kNewest, grid_sample},
    {"RoiAlign", 10, kNewest, roi_align},
};

}  // namespace

std::span<const Row> resize_rows() { return kResizeRows; }

}  // namespace byoc::onnx_import
