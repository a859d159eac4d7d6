// SPDX-License-Identifier: Apache-2.0
// Ops on single elements, and those whose operands and attributes are ONNX's own.
#include <limits>

#include "core/export/rows.h"

namespace byoc::onnx_export {
namespace {

/// Writes Clip. A bound that ONNX lacks is the largest finite number, which infinities are not.
Status clip(Call& call) {
  const DType dtype = call.input_type(0).dtype;
  const bool is_open = !is_float(dtype);  // a missing bound of integers changes nothing
  const auto bound = [&](const char* name, double infinite) -> std::string {
    if (!call.attrs().has(name) && is_open) return "";
    return call.scalar(dtype, call.attrs().f(name, infinite));
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Names inputs = {call.input(0), bound("min", -kInfinity), bound("max", kInfinity)};
  while (inputs.back().empty()) inputs.pop_back();
  call.add("Clip", inputs, call.outputs());
  return {};
}

/// Writes Mod, which ONNX has on floats with the sign of the dividend only.
Status mod(Call& call) {
  if (is_float(call.input_type(0).dtype) && !call.attrs().b("fmod", false))
    return unimplemented("on floats without fmod");
  call.add("Mod", {"fmod"});
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
    {"mod", "Mod", 0, mod},
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
