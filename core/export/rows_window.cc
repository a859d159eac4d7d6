// SPDX-License-Identifier: Apache-2.0
// Products, convolutions, pooling, recurrent nets, quantisation.
#include "core/export/rows.h"

#include <algorithm>

namespace byoc::onnx_export {
namespace {

/// Writes convolutions, which ONNX defines for floats.
Status convolution(Call& call) {
  if (!is_float(call.input_type(0).dtype))
    return unimplemented(cat("on ", call.input_type(0).dtype));
  const bool transposed = call.op().name.ends_with("_transpose");
  call.add(transposed ? "ConvTranspose" : "Conv",
           {"strides", "pads", "dilations", "group", "output_padding"});
  return {};
}

/// Returns true when no dilation is above 1.
bool is_dense(const Call& call) {
  const Ints dilations = call.attrs().ints("dilations");
  return std::all_of(dilations.begin(), dilations.end(), [](int64_t d) { return d == 1; });
}

Status max_pool(Call& call) {
  call.add("MaxPool",
           {"kernel_shape", "strides", "pads", "dilations", "ceil_mode", "storage_order"});
  return {};
}

Status average_pool(Call& call) {
  onnx::NodeProto& node = call.add(
      "AveragePool", {"kernel_shape", "strides", "pads", "ceil_mode", "count_include_pad"});
  if (is_dense(call)) return {};
  call.need(19);
  add_attribute(node, "dilations", call.attrs().ints("dilations"));
  return {};
}

Status lp_pool(Call& call) {
  onnx::NodeProto& node = call.add("LpPool", {"kernel_shape", "strides", "pads", "p"});
  if (is_dense(call) && !call.attrs().b("ceil_mode", false)) return {};
  call.need(18);
  add_attribute(node, "dilations", call.attrs().ints("dilations"));
  add_attribute(node, "ceil_mode", call.attrs().b("ceil_mode", false));
  return {};
}

Status gemm(Call& call) {
  onnx::NodeProto& node = call.add("Gemm", {"alpha"});
  add_attribute(node, "transA", call.attrs().b("trans_a", false));
  add_attribute(node, "transB", call.attrs().b("trans_b", false));
  return {};
}

/// Writes alpha and beta, which ONNX has for those functions alone that take them.
void write_parameters(const Call& call, onnx::NodeProto& node) {
  constexpr std::string_view kBoth[] = {"Affine", "HardSigmoid", "ScaledTanh"};
  constexpr std::string_view kOne[] = {"Elu", "LeakyRelu", "ThresholdedRelu"};
  auto is_in = [](const auto& list, const std::string& name) {
    return std::find(std::begin(list), std::end(list), name) != std::end(list);
  };
  const Strings names = call.attrs().strings("activations");
  const Floats alpha = call.attrs().floats("alpha"), beta = call.attrs().floats("beta");
  Floats alphas, betas;
  for (size_t k = 0; k < names.size(); ++k) {
    const bool has_both = is_in(kBoth, names[k]);
    if (has_both || is_in(kOne, names[k])) alphas.push_back(alpha.empty() ? 0 : alpha[k]);
    if (has_both) betas.push_back(beta.empty() ? 0 : beta[k]);
  }
  add_attribute(node, "activation_alpha", alphas);
  add_attribute(node, "activation_beta", betas);
}

/// Writes LSTM, GRU and RNN. ONNX has the lengths of sequences as operand 4, in i32.
Status recurrent(Call& call) {
  const Dim hidden = call.input_type(2).shape[2];
  if (!hidden.is_static()) return unimplemented(cat("with ", hidden, " hidden units"));
  Names inputs = call.inputs();
  std::string lengths;
  if (inputs.size() > (call.op().name == "lstm" ? 7 : 5)) {
    lengths = call.cast(inputs.back(), DType::kI32);
    inputs.pop_back();
  }
  if (inputs.size() > 4) inputs.insert(inputs.begin() + 4, lengths);
  onnx::NodeProto& node = call.add(find_row(call.op().name)->op_type, inputs, call.outputs());
  add_attribute(node, "activations", call.attrs().strings("activations"));
  write_parameters(call, node);
  if (call.attrs().f("clip", 0) != 0) add_attribute(node, "clip", call.attrs().f("clip"));
  if (call.op().name == "lstm")
    add_attribute(node, "input_forget", call.attrs().b("input_forget", false));
  add_attribute(node, "hidden_size", hidden.extent());
  add_attribute(node, "direction", call.attrs().s("direction", "forward"));
  if (call.op().name == "gru")
    add_attribute(node, "linear_before_reset", call.attrs().b("linear_before_reset", false));
  return {};
}

/// Writes QuantizeLinear and DequantizeLinear. Integers of 16 bits came with opset 21.
Status quantisation(Call& call) {
  for (const TensorType* type : {&call.input_type(0), &call.output_type(0)}) {
    if (type->dtype == DType::kI16 || type->dtype == DType::kU16) call.need(21);
  }
  call.add(find_row(call.op().name)->op_type, {"axis"});
  return {};
}

Status resize(Call& call) {
  const Attrs& attrs = call.attrs();
  const Ints sizes = attrs.ints(attrs.has("shape") ? "shape" : "sizes");
  const Floats scales = attrs.floats("scales");
  if (!sizes.empty() && !scales.empty()) return unimplemented("with sizes and scales");
  if (!attrs.floats("roi").empty()) return unimplemented("with a region of interest");
  if (attrs.b("antialias", false)) call.need(18);
  if (attrs.s("coordinates") == "half_pixel_symmetric") call.need(19);
  Names inputs = {call.input(0), "", ""};
  if (sizes.empty()) inputs[2] = call.floats(scales);
  else inputs.push_back(call.ints(sizes));
  onnx::NodeProto& node = call.add("Resize", inputs, call.outputs());
  add_attribute(node, "mode", attrs.s("mode", "nearest"));
  add_attribute(node, "coordinate_transformation_mode", attrs.s("coordinates", "half_pixel"));
  add_attribute(node, "nearest_mode", attrs.s("nearest", "round_prefer_floor"));
  add_attribute(node, "cubic_coeff_a", attrs.f("cubic_coeff_a", -0.75));
  add_attribute(node, "exclude_outside", attrs.b("exclude_outside", false));
  add_attribute(node, "extrapolation_value", attrs.f("extrapolation_value", 0));
  if (attrs.b("antialias", false)) add_attribute(node, "antialias", true);
  return {};
}

// ONNX requires the scale, which is 1 when the op has none.
Status rms_norm(Call& call) {
  Names inputs = call.inputs();
  const TensorType& x = call.input_type(0);
  const int64_t axis = call.attrs().i("axis", -1);
  const Shape row(axis < 0 ? x.shape.end() + axis : x.shape.begin() + axis, x.shape.end());
  if (inputs.size() == 1) inputs.push_back(call.filled({x.dtype, row}, 1));
  onnx::NodeProto& node = call.add("RMSNormalization", inputs, call.outputs());
  add_attribute(node, "axis", axis);
  add_attribute(node, "epsilon", call.attrs().f("epsilon", 1e-5));
  return {};
}

constexpr Row kWindowRows[] = {
    {"average_pool", "AveragePool", 0, average_pool},
    {"conv1d", "Conv", 0, convolution},
    {"conv1d_transpose", "ConvTranspose", 0, convolution},
    {"conv2d", "Conv", 0, convolution},
    {"conv2d_transpose", "ConvTranspose", 0, convolution},
    {"conv3d", "Conv", 0, convolution},
    {"conv3d_transpose", "ConvTranspose", 0, convolution},
    {"dequantize", "DequantizeLinear", 0, quantisation},
    {"det", "Det"},
    {"einsum", "Einsum"},
    {"gemm", "Gemm", 0, gemm},
    {"global_average_pool", "GlobalAveragePool"},
    {"global_lp_pool", "GlobalLpPool"},
    {"global_max_pool", "GlobalMaxPool"},
    {"gru", "GRU", 0, recurrent},
    {"lp_pool", "LpPool", 0, lp_pool},
    {"lstm", "LSTM", 0, recurrent},
    {"matmul", "MatMul"},
    {"max_pool", "MaxPool", 0, max_pool},
    {"quantize", "QuantizeLinear", 0, quantisation},
    {"resize", "Resize", 0, resize},
    {"rnn", "RNN", 0, recurrent},
    {"rms_norm", "RMSNormalization", 23, rms_norm},
};

}  // namespace

std::span<const Row> window_rows() { return kWindowRows; }

}  // namespace byoc::onnx_export
