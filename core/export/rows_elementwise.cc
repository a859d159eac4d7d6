// SPDX-License-Identifier: Apache-2.0
// Ops on single elements, and those whose operands and attributes are ONNX's own.
#include "core/export/rows.h"

namespace byoc::onnx_export {
namespace {

Status clip(Call& call) {
  Names inputs = {call.input(0)};
  const DType dtype = call.input_type(0).dtype;
  const bool has_min = call.attrs().has("min"), has_max = call.attrs().has("max");
  if (has_min || has_max)
    inputs.push_back(has_min ? call.scalar(dtype, call.attrs().f("min")) : "");
  if (has_max) inputs.push_back(call.scalar(dtype, call.attrs().f("max")));
  call.add("Clip", inputs, call.outputs());
  return {};
}

Status rsqrt(Call& call) {
  call.add("Reciprocal", {call.value("Sqrt", call.inputs())}, call.outputs());
  return {};
}

Status not_equal(Call& call) {
  call.add("Not", {call.value("Equal", call.inputs())}, call.outputs());
  return {};
}

Status bit_shift(Call& call) {
  const bool left = call.attrs().s("direction") == "left";
  add_attribute(call.add("BitShift", call.inputs(), call.outputs()), "direction",
                std::string(left ? "LEFT" : "RIGHT"));
  return {};
}

constexpr Row kElementwiseRows[] = {
    {"abs", "Abs"},
    {"acos", "Acos"},
    {"acosh", "Acosh"},
    {"add", "Add"},
    {"asin", "Asin"},
    {"asinh", "Asinh"},
    {"atan", "Atan"},
    {"atanh", "Atanh"},
    {"bit_shift", "BitShift", 0, bit_shift},
    {"bitwise_and", "BitwiseAnd", 18},
    {"bitwise_not", "BitwiseNot", 18},
    {"bitwise_or", "BitwiseOr", 18},
    {"bitwise_xor", "BitwiseXor", 18},
    {"cast", "Cast"},
    {"ceil", "Ceil"},
    {"celu", "Celu"},
    {"clip", "Clip", 0, clip},
    {"cos", "Cos"},
    {"cosh", "Cosh"},
    {"divide", "Div"},
    {"elu", "Elu"},
    {"equal", "Equal"},
    {"erf", "Erf"},
    {"exp", "Exp"},
    {"floor", "Floor"},
    {"gelu", "Gelu", 20},
    {"greater", "Greater"},
    {"greater_equal", "GreaterOrEqual"},
    {"hard_sigmoid", "HardSigmoid"},
    {"hard_swish", "HardSwish"},
    {"identity", "Identity"},
    {"is_inf", "IsInf"},
    {"is_nan", "IsNaN"},
    {"leaky_relu", "LeakyRelu"},
    {"less", "Less"},
    {"less_equal", "LessOrEqual"},
    {"log", "Log"},
    {"logical_and", "And"},
    {"logical_not", "Not"},
    {"logical_or", "Or"},
    {"logical_xor", "Xor"},
    {"maximum", "Max"},
    {"minimum", "Min"},
    {"mish", "Mish", 18},
    {"mod", "Mod"},
    {"multiply", "Mul"},
    {"negative", "Neg"},
    {"not_equal", "Not", 0, not_equal},
    {"power", "Pow"},
    {"prelu", "PRelu"},
    {"reciprocal", "Reciprocal"},
    {"relu", "Relu"},
    {"round", "Round"},
    {"rsqrt", "Sqrt", 0, rsqrt},
    {"selu", "Selu"},
    {"shrink", "Shrink"},
    {"sigmoid", "Sigmoid"},
    {"sign", "Sign"},
    {"sin", "Sin"},
    {"sinh", "Sinh"},
    {"softplus", "Softplus"},
    {"softsign", "Softsign"},
    {"sqrt", "Sqrt"},
    {"subtract", "Sub"},
    {"swish", "Swish", 24},
    {"tan", "Tan"},
    {"tanh", "Tanh"},
    {"thresholded_relu", "ThresholdedRelu"},
    {"where", "Where"},
};

}  // namespace

std::span<const Row> elementwise_rows() { return kElementwiseRows; }

}  // namespace byoc::onnx_export
