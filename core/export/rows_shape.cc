// SPDX-License-Identifier: Apache-2.0
// Ops that move or look up elements. ONNX has shapes and axes as operands, byoc as attributes.
#include "byoc/ir/open_shape.h"
#include "core/export/rows.h"

namespace byoc::onnx_export {
namespace {

/// Returns the operand for open sizes: 0 copies a dim of x, and ONNX computes one other, -1.
Result<Ints> open_reshape(const Call& call) {
  BYOC_TRY(const Shape shape, open_shape_of(call.attrs()));
  const Shape& x = call.input_type(0).shape;
  Ints out;
  size_t computed = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    const bool is_copied = d < x.size() && shape[d] == x[d] && !shape[d].is_static();
    if (!is_copied && !shape[d].is_static()) ++computed;
    out.push_back(is_copied ? 0 : shape[d].is_static() ? shape[d].extent() : -1);
    if (computed > 1 || shape[d] == Dim(0)) return unimplemented("to several open sizes");
  }
  return out;
}

Status reshape(Call& call) {
  Ints shape = call.attrs().ints("shape");
  if (call.attrs().has(kOpenShapeAttr)) {
    BYOC_TRY(shape, open_reshape(call));
  }
  onnx::NodeProto& node = call.add("Reshape", {call.input(0), call.ints(shape)}, call.outputs());
  if (call.attrs().b("allow_zero", false)) add_attribute(node, "allowzero", int64_t{1});
  return {};
}

/// Writes the op with one list of integers as its second operand.
void with_ints(Call& call, std::string_view op_type, const char* attribute) {
  Names inputs = {call.input(0)};
  Ints values = call.attrs().ints(attribute);
  if (!values.empty()) inputs.push_back(call.ints(values));
  call.add(op_type, inputs, call.outputs());
}

Status expand(Call& call) {
  call.add("Expand", {call.input(0), call.ints(call.attrs().ints("shape"))}, call.outputs());
  return {};
}

Status tile(Call& call) {
  call.add("Tile", {call.input(0), call.ints(call.attrs().ints("repeats"))}, call.outputs());
  return {};
}

Status squeeze(Call& call) {
  with_ints(call, "Squeeze", "axes");
  return {};
}

Status unsqueeze(Call& call) {
  call.add("Unsqueeze", {call.input(0), call.ints(call.attrs().ints("axes"))}, call.outputs());
  return {};
}

Status split(Call& call) {
  onnx::NodeProto& node =
      call.add("Split", {call.input(0), call.ints(call.attrs().ints("split"))}, call.outputs());
  add_attribute(node, "axis", call.attrs().i("axis", 0));
  return {};
}

Status slice(Call& call) {
  const Attrs& attrs = call.attrs();
  Ints starts = attrs.ints("starts"), axes = attrs.ints("axes"), steps = attrs.ints("steps");
  if (axes.empty()) {
    for (size_t k = 0; k < starts.size(); ++k) axes.push_back(static_cast<int64_t>(k));
  }
  Names inputs = {call.input(0), call.ints(starts), call.ints(attrs.ints("ends")), call.ints(axes)};
  if (!steps.empty()) inputs.push_back(call.ints(steps));
  call.add("Slice", inputs, call.outputs());
  return {};
}

Status pad(Call& call) {
  const std::string mode = call.attrs().s("mode", "constant");
  const double value = call.attrs().f("value", 0);
  if (mode == "wrap") call.need(19);
  Names inputs = {call.input(0), call.ints(call.attrs().ints("pads"))};
  if (mode == "constant" && value != 0)
    inputs.push_back(call.scalar(call.input_type(0).dtype, value));
  add_attribute(call.add("Pad", inputs, call.outputs()), "mode", mode);
  return {};
}

Status one_hot(Call& call) {
  const int64_t depth = call.attrs().i("depth");
  onnx::NodeProto& node =
      call.add("OneHot", {call.input(0), call.ints({depth}), call.input(1)}, call.outputs());
  add_attribute(node, "axis", call.attrs().i("axis", -1));
  return {};
}

Status trilu(Call& call) {
  onnx::NodeProto& node =
      call.add("Trilu", {call.input(0), call.filled({DType::kI64, {}}, call.attrs().i("k", 0))},
               call.outputs());
  add_attribute(node, "upper", call.attrs().b("upper", true));
  return {};
}

/// Writes ScatterElements and ScatterND; max and min came with opset 18.
Status scatter(Call& call, const char* op_type) {
  const std::string reduction = call.attrs().s("reduction", "none");
  if (reduction == "max" || reduction == "min") call.need(18);
  call.add(op_type, {"axis", "reduction"});
  return {};
}

Status scatter_elements(Call& call) { return scatter(call, "ScatterElements"); }
/// Writes TensorScatter, which has i64 starts only.
Status update_rows(Call& call) {
  Names inputs = call.inputs();
  if (call.input_type(2).dtype != DType::kI64) inputs[2] = call.cast(inputs[2], DType::kI64);
  onnx::NodeProto& node = call.add("TensorScatter", inputs, call.outputs());
  add_attribute(node, "axis", call.attrs().i("axis", -2));
  add_attribute(node, "mode", call.attrs().s("mode", "linear"));
  return {};
}

Status scatter_nd(Call& call) { return scatter(call, "ScatterND"); }

// ONNX's SpaceToDepth has one order of channels, which is the inverse of DepthToSpace's DCR.
Status space_to_depth(Call& call) {
  const std::string mode = call.attrs().s("mode", "DCR");
  if (mode != "DCR") return unimplemented(cat("with mode ", mode));
  call.add("SpaceToDepth", {"blocksize"});
  return {};
}

constexpr Row kShapeRows[] = {
    {"concat", "Concat"},
    {"depth_to_space", "DepthToSpace"},
    {"expand", "Expand", 0, expand},
    {"flatten", "Flatten"},
    {"gather", "Gather"},
    {"gather_elements", "GatherElements"},
    {"gather_nd", "GatherND"},
    {"one_hot", "OneHot", 0, one_hot},
    {"pad", "Pad", 0, pad},
    {"reshape", "Reshape", 0, reshape, true},
    {"reverse_sequence", "ReverseSequence"},
    {"scatter_elements", "ScatterElements", 0, scatter_elements},
    {"scatter_nd", "ScatterND", 0, scatter_nd},
    {"shape", "Shape"},
    {"slice", "Slice", 0, slice},
    {"space_to_depth", "SpaceToDepth", 0, space_to_depth},
    {"split", "Split", 0, split},
    {"squeeze", "Squeeze", 0, squeeze},
    {"tile", "Tile", 0, tile},
    {"transpose", "Transpose"},
    {"trilu", "Trilu", 0, trilu},
    {"unsqueeze", "Unsqueeze", 0, unsqueeze},
    {"update_rows", "TensorScatter", 24, update_rows},
};

}  // namespace

std::span<const Row> shape_rows() { return kShapeRows; }

}  // namespace byoc::onnx_export
