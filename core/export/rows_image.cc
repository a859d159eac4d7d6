// SPDX-License-Identifier: Apache-2.0
// Ops that sample images, spectra, and attention with a state.
#include "core/export/rows.h"

namespace byoc::onnx_export {
namespace {

Status col2im(Call& call) {
  const Attrs& attrs = call.attrs();
  onnx::NodeProto& node = call.add(
      "Col2Im",
      {call.input(0), call.ints(attrs.ints("image_shape")), call.ints(attrs.ints("block_shape"))},
      call.outputs());
  for (const char* name : {"strides", "pads", "dilations"})
    add_attribute(node, name, attrs.ints(name));
  return {};
}

/// Writes DeformConv with a group per channel, whose weights take each cell of a window to a
/// channel of its own, and puts these channels last.
Status deform_rows(Call& call) {
  const Shape& x = call.input_type(0).shape;
  const Ints kernel = call.attrs().ints("kernel_shape");
  if (!x[1].is_static()) return unimplemented("with an open number of channels");
  if (!is_static(call.output_type(0).shape)) return unimplemented("with open extents");
  const int64_t channels = x[1].extent();
  int64_t cells = 1;
  for (int64_t extent : kernel) cells *= extent;
  Shape shape = {channels * cells, 1};
  for (int64_t extent : kernel) shape.push_back(extent);
  std::vector<double> weight(static_cast<size_t>(channels * cells * cells), 0);
  for (int64_t k = 0; k < channels * cells; ++k)
    weight[static_cast<size_t>(k * cells + k % cells)] = 1;
  Names inputs = {call.input(0), call.values({call.input_type(0).dtype, shape}, weight),
                  call.input(1)};
  if (call.num_inputs() > 2) inputs.insert(inputs.end(), {"", call.input(2)});
  const std::string columns = call.value("DeformConv", inputs);
  onnx::NodeProto& node = call.last();
  add_attribute(node, "group", channels);
  for (const char* name : {"kernel_shape", "strides", "pads", "dilations"})
    add_attribute(node, name, call.attrs().ints(name));
  add_attribute(node, "offset_group", call.attrs().i("offset_group", 1));
  // [n, group, blocks, channels, cells of the kernel, cells...]
  const Ints y = static_extents(call.output_type(0).shape);
  const auto end = static_cast<int64_t>(y.size()) - 2;
  Ints parts = {y[0], y[1], y[static_cast<size_t>(end)] / std::max<int64_t>(cells, 1), y.back(),
                cells};
  Ints order = {0, 1};
  for (int64_t d = 2; d < end; ++d) {
    parts.push_back(y[static_cast<size_t>(d)]);
    order.push_back(d + 3);
  }
  order.insert(order.end(), {2, 4, 3});
  const std::string split = call.value("Reshape", {columns, call.ints(parts)});
  add_attribute(call.last(), "allowzero", int64_t{1});
  const std::string rows = call.value("Transpose", {split});
  add_attribute(call.last(), "perm", order);
  add_attribute(call.add("Reshape", {rows, call.ints(y)}, call.outputs()), "allowzero", int64_t{1});
  return {};
}

/// Writes DFT. Its axis is an operand from opset 20 on, which also has one side of the inverse.
Status dft(Call& call) {
  const Attrs& attrs = call.attrs();
  const bool inverse = attrs.b("inverse", false), onesided = attrs.b("onesided", false);
  const int64_t length = attrs.i("length", 0), axis = attrs.i("axis", -2);
  if (inverse && onesided) call.need(20);
  const bool as_operand = call.opset() >= 20;
  Names inputs = {call.input(0)};
  if (length != 0 || as_operand)
    inputs.push_back(length == 0 ? ""
                                 : call.filled({DType::kI64, {}}, static_cast<double>(length)));
  if (as_operand) inputs.push_back(call.filled({DType::kI64, {}}, static_cast<double>(axis)));
  onnx::NodeProto& node = call.add("DFT", inputs, call.outputs());
  if (!as_operand) add_attribute(node, "axis", axis);
  add_attribute(node, "inverse", inverse);
  add_attribute(node, "onesided", onesided);
  return {};
}

/// Writes GridSample. From opset 20 on it takes volumes, and its modes have other names.
Status grid_sample(Call& call) {
  if (call.input_type(0).shape.size() != 4) call.need(20);
  std::string mode = call.attrs().s("mode", "bilinear");
  if (call.opset() >= 20 && mode == "bilinear") mode = "linear";
  if (call.opset() >= 20 && mode == "bicubic") mode = "cubic";
  onnx::NodeProto& node = call.add("GridSample", {"padding_mode", "align_corners"});
  add_attribute(node, "mode", mode);
  return {};
}

Status roi_align(Call& call) {
  onnx::NodeProto& node =
      call.add("RoiAlign", {"output_height", "output_width", "sampling_ratio", "spatial_scale"});
  const bool is_mean = call.attrs().s("mode", "average") == "average";
  add_attribute(node, "mode", std::string(is_mean ? "avg" : "max"));
  add_attribute(
      node, "coordinate_transformation_mode",
      std::string(call.attrs().b("half_pixel", true) ? "half_pixel" : "output_half_pixel"));
  return {};
}

/// Writes LinearAttention, which has the decay as operand 4 and beta as operand 5.
Status linear_attention(Call& call) {
  const Attrs& attrs = call.attrs();
  const std::string rule = attrs.s("rule", "linear");
  Names inputs = call.inputs();
  if (rule == "delta") inputs.insert(inputs.begin() + 4, "");
  onnx::NodeProto& node = call.add("LinearAttention", inputs, call.outputs());
  add_attribute(node, "update_rule", rule);
  add_attribute(node, "q_num_heads", attrs.i("q_heads", 1));
  add_attribute(node, "kv_num_heads", attrs.i("kv_heads", 1));
  add_attribute(node, "scale", attrs.f("scale", 0));
  return {};
}

constexpr Row kImageRows[] = {
    {"bit_cast", "BitCast", 26},
    {"col2im", "Col2Im", 18, col2im},
    {"deform_rows", "DeformConv", 19, deform_rows},
    {"dft", "DFT", 0, dft},
    {"eye_like", "EyeLike"},
    {"grid_sample", "GridSample", 0, grid_sample},
    {"linear_attention", "LinearAttention", 27, linear_attention},
    {"roi_align", "RoiAlign", 0, roi_align},
};

}  // namespace

std::span<const Row> image_rows() { return kImageRows; }

}  // namespace byoc::onnx_export
