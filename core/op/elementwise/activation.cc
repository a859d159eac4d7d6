// SPDX-License-Identifier: Apache-2.0
// Activation functions: elementwise, with one input and parameters as attributes.
#include "byoc/op/registry.h"
#include "core/op/kernel/convert.h"
#include "core/op/kernel/unary.h"

namespace byoc::op {
namespace {

using te::UnaryOp;

template <class T>
T sigmoid_of(T x) {
  return 1 / (1 + std::exp(-x));
}

template <class T>
T softplus_of(T x) {  // e^x alone would overflow for large x
  return std::max(x, T(0)) + std::log1p(std::exp(-std::abs(x)));
}

Expr sigmoid_expr(const Expr& x) {
  return like(x, 1) / (like(x, 1) + te::unary(UnaryOp::kExp, -x));
}

Expr softplus_expr(const Expr& x) {
  return max(zero(x.dtype()), x) + log_1p(te::unary(UnaryOp::kExp, -te::unary(UnaryOp::kAbs, x)));
}

// Returns `below` where x is below 0, else x.
Expr below_zero(const Expr& x, Expr below) {
  return select(x < zero(x.dtype()), std::move(below), x);
}

// Keeps NaN: min and max return their second operand where one is NaN.
Expr unit_interval(const Expr& x) { return max(zero(x.dtype()), min(like(x, 1), x)); }

// Reads every parameter in f64 and uses it in the type that elements are computed in.
auto leaky_relu(const Attrs& attrs) {
  return [alpha = attrs.f("alpha")](auto x) { return x < 0 ? decltype(x)(alpha) * x : x; };
}

ExprFn leaky_relu_expr(const Attrs& attrs) {
  return [alpha = attrs.f("alpha")](Expr x) { return below_zero(x, like(x, alpha) * x); };
}

auto elu(const Attrs& attrs) {
  return
      [alpha = attrs.f("alpha")](auto x) { return x < 0 ? decltype(x)(alpha) * std::expm1(x) : x; };
}

ExprFn elu_expr(const Attrs& attrs) {
  return [alpha = attrs.f("alpha")](Expr x) { return below_zero(x, like(x, alpha) * exp_m1(x)); };
}

auto selu(const Attrs& attrs) {
  return [alpha = attrs.f("alpha"), gamma = attrs.f("gamma")](auto x) {
    using T = decltype(x);
    return T(gamma) * (x < 0 ? T(alpha) * std::expm1(x) : x);
  };
}

ExprFn selu_expr(const Attrs& attrs) {
  return [alpha = attrs.f("alpha"), gamma = attrs.f("gamma")](Expr x) {
    return like(x, gamma) * below_zero(x, like(x, alpha) * exp_m1(x));
  };
}

auto celu(const Attrs& attrs) {
  return [alpha = attrs.f("alpha")](auto x) {
    using T = decltype(x);
    return x < 0 ? T(alpha) * std::expm1(x / T(alpha)) : x;
  };
}

ExprFn celu_expr(const Attrs& attrs) {
  return [alpha = attrs.f("alpha")](Expr x) {
    return below_zero(x, like(x, alpha) * exp_m1(x / like(x, alpha)));
  };
}

auto hard_sigmoid(const Attrs& attrs) {
  return [alpha = attrs.f("alpha"), beta = attrs.f("beta")](auto x) {
    using T = decltype(x);
    T line = T(alpha) * x + T(beta);
    return line < 0 ? T(0) : line > 1 ? T(1) : line;
  };
}

ExprFn hard_sigmoid_expr(const Attrs& attrs) {
  return [alpha = attrs.f("alpha"), beta = attrs.f("beta")](Expr x) {
    return unit_interval(like(x, alpha) * x + like(x, beta));
  };
}

auto thresholded_relu(const Attrs& attrs) {
  return [alpha = attrs.f("alpha")](auto x) { return x > decltype(x)(alpha) ? x : decltype(x)(0); };
}

ExprFn thresholded_relu_expr(const Attrs& attrs) {
  return
      [alpha = attrs.f("alpha")](Expr x) { return select(x > like(x, alpha), x, zero(x.dtype())); };
}

auto swish(const Attrs& attrs) {
  return [alpha = attrs.f("alpha")](auto x) { return x * sigmoid_of(decltype(x)(alpha) * x); };
}

ExprFn swish_expr(const Attrs& attrs) {
  return [alpha = attrs.f("alpha")](Expr x) { return x * sigmoid_expr(like(x, alpha) * x); };
}

auto shrink(const Attrs& attrs) {
  return [lambda = attrs.f("lambd"), bias = attrs.f("bias")](auto x) {
    double value = static_cast<double>(x);
    return static_cast<decltype(x)>(value < -lambda  ? value + bias
                                    : value > lambda ? value - bias
                                                     : 0);
  };
}

ExprFn shrink_expr(const Attrs& attrs) {
  return [lambda = attrs.f("lambd"), bias = attrs.f("bias")](Expr x) {
    Expr value = te::cast(DType::kF64, x);
    Expr above = select(value > like(value, lambda), value - like(value, bias), like(value, 0));
    Expr y = select(value < like(value, -lambda), value + like(value, bias), above);
    return converted_to(x.dtype(), y);
  };
}

auto gelu(const Attrs& attrs) {
  return [by_tanh = attrs.s("approximate") == "tanh"](auto x) {
    using T = decltype(x);
    constexpr T kRootHalf = T(0.70710678118654752440), kRootTwoByPi = T(0.79788456080286535588);
    if (by_tanh) return T(0.5) * x * (1 + std::tanh(kRootTwoByPi * (x + T(0.044715) * x * x * x)));
    return T(0.5) * x * (1 + std::erf(x * kRootHalf));
  };
}

ExprFn gelu_expr(const Attrs& attrs) {
  return [by_tanh = attrs.s("approximate") == "tanh"](Expr x) {
    Expr inner = x * like(x, 0.70710678118654752440);
    if (by_tanh) inner = like(x, 0.79788456080286535588) * (x + like(x, 0.044715) * x * x * x);
    UnaryOp curve = by_tanh ? UnaryOp::kTanh : UnaryOp::kErf;
    return like(x, 0.5) * x * (like(x, 1) + te::unary(curve, inner));
  };
}

OpDef gelu_op() {
  OpDef op =
      unary_with("gelu",
                 "y = x/2 (1 + erf(x / sqrt 2)); approximate=\"tanh\": "
                 "x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))",
                 FloatTypes{}, {{"approximate", "none", "\"none\" or \"tanh\""}}, gelu, gelu_expr);
  op.infer = [same = op.infer](Types inputs,
                               const Attrs& attrs) -> Result<std::vector<TensorType>> {
    std::string kind = attrs.s("approximate");
    if (kind != "none" && kind != "tanh")
      return invalid(cat("gelu: approximate is \"", kind, "\", expects \"none\" or \"tanh\""));
    return same(inputs, attrs);
  };
  return op;
}

// Clips to the bounds. An absent bound is infinite; for integers it is the end of their range.
auto clip(const Attrs& attrs) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return [least = attrs.f("min", -kInfinity), most = attrs.f("max", kInfinity)](auto x) {
    using T = decltype(x);
    T low, high;
    if constexpr (std::is_integral_v<T>) low = saturated<T>(least), high = saturated<T>(most);
    else low = static_cast<T>(least), high = static_cast<T>(most);
    T raised = x < low ? low : x;
    return high < raised ? high : raised;
  };
}

ExprFn clip_expr(const Attrs& attrs) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return [least = attrs.f("min", -kInfinity), most = attrs.f("max", kInfinity)](Expr x) {
    Expr y = x;
    if (least > -kInfinity) y = max(saturated_literal(x.dtype(), least), y);
    if (most < kInfinity) y = min(saturated_literal(x.dtype(), most), y);
    return y;
  };
}

OpDef clip_op() {
  OpDef op =
      unary_with("clip", "y = min(max(x, min), max); an absent bound has no effect", NumericTypes{},
                 {{"min", 0.0, "lower bound", AttrSpec::kOptional},
                  {"max", 0.0, "upper bound", AttrSpec::kOptional}},
                 clip, clip_expr);
  op.infer = [same = op.infer](Types inputs,
                               const Attrs& attrs) -> Result<std::vector<TensorType>> {
    for (const char* name : {"min", "max"}) {
      if (std::isnan(attrs.f(name, 0))) return invalid(cat("clip: ", name, " is not a number"));
    }
    return same(inputs, attrs);
  };
  return op;
}

void add_plain(OpRegistry& ops) {
  constexpr FloatTypes kFloats;
  ops.add(unary(
      "relu", "y = max(x, 0)", NumericTypes{}, [](auto x) { return x < 0 ? decltype(x)(0) : x; },
      [](Expr x) { return max(zero(x.dtype()), x); }));
  ops.add(unary(
      "sigmoid", "y = 1 / (1 + e^-x)", kFloats, [](auto x) { return sigmoid_of(x); },
      sigmoid_expr));
  ops.add(unary(
      "softplus", "y = ln(1 + e^x)", kFloats, [](auto x) { return softplus_of(x); },
      softplus_expr));
  ops.add(unary(
      "softsign", "y = x / (1 + |x|)", kFloats, [](auto x) { return x / (1 + std::abs(x)); },
      [](Expr x) { return x / (like(x, 1) + te::unary(UnaryOp::kAbs, x)); }));
  ops.add(unary(
      "hard_swish", "y = x max(0, min(1, x/6 + 1/2))", kFloats,
      [](auto x) {
        using T = decltype(x);
        return x * std::max(T(0), std::min(T(1), x / 6 + T(0.5)));
      },
      [](Expr x) { return x * unit_interval(x / like(x, 6) + like(x, 0.5)); }));
  ops.add(unary(
      "mish", "y = x tanh(ln(1 + e^x))", kFloats,
      [](auto x) { return x * std::tanh(softplus_of(x)); },
      [](Expr x) { return x * te::unary(UnaryOp::kTanh, softplus_expr(x)); }));
}

void add_with_parameters(OpRegistry& ops) {
  constexpr FloatTypes kFloats;
  ops.add(unary_with("leaky_relu", "y = x for x >= 0, else alpha x", kFloats,
                     {{"alpha", 0.01, "slope below 0"}}, leaky_relu, leaky_relu_expr));
  ops.add(unary_with("elu", "y = x for x >= 0, else alpha (e^x - 1)", kFloats,
                     {{"alpha", 1.0, "limit below 0"}}, elu, elu_expr));
  ops.add(unary_with("selu", "y = gamma x for x >= 0, else gamma alpha (e^x - 1)", kFloats,
                     {{"alpha", 1.67326319217681884765625, "limit below 0"},
                      {"gamma", 1.05070102214813232421875, "scale"}},
                     selu, selu_expr));
  ops.add(unary_with("celu", "y = max(0, x) + min(0, alpha (e^(x / alpha) - 1))", kFloats,
                     {{"alpha", 1.0, "limit below 0"}}, celu, celu_expr));
  ops.add(unary_with("hard_sigmoid", "y = max(0, min(1, alpha x + beta))", kFloats,
                     {{"alpha", 0.2, "slope"}, {"beta", 0.5, "value at 0"}}, hard_sigmoid,
                     hard_sigmoid_expr));
  ops.add(unary_with("thresholded_relu", "y = x for x > alpha, else 0", kFloats,
                     {{"alpha", 1.0, "threshold"}}, thresholded_relu, thresholded_relu_expr));
  ops.add(unary_with("swish", "y = x / (1 + e^(-alpha x))", kFloats, {{"alpha", 1.0, "steepness"}},
                     swish, swish_expr));
  ops.add(unary_with("shrink", "y = x + bias for x < -lambd, x - bias for x > lambd, else 0",
                     NumericTypes{},
                     {{"lambd", 0.5, "half width of the zero range"}, {"bias", 0.0, "shift to 0"}},
                     shrink, shrink_expr));
}

}  // namespace

void add_activation_ops(OpRegistry& ops) {
  add_plain(ops);
  add_with_parameters(ops);
  ops.add(gelu_op());
  ops.add(clip_op());
}

}  // namespace byoc::op
