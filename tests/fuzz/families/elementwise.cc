// SPDX-License-Identifier: Apache-2.0
// Ops on single elements and on pairs that broadcast.
#include <algorithm>
#include <set>

#include "grow.h"

namespace byoc::fuzz {
namespace {

/// Returns attributes of ops on one element. Ops that are not listed have none, or
/// keep their defaults.
Attrs random_attrs(Grower& g, std::string_view op) {
  if (op == "clip") {
    double low = g.real(-1.5, 1), high = g.real(low, 2);
    if (g.chance(0.3)) low = 0, high = 6;
    switch (g.pick(3)) {
      case 0:
        return {{"min", low}};
      case 1:
        return {{"max", high}};
      default:
        return {{"min", low}, {"max", high}};
    }
  }
  if (op == "cast") return {{"to", static_cast<DType>(g.pick(kDTypeCount))}};
  if (op == "encode_float" || op == "decode_float")
    return {{"format", g.one_of<std::string>({"f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz",
                                              "f8e8m0", "f6e2m3", "f6e3m2", "f4e2m1"})}};
  if (op == "gelu" && g.chance(0.5)) return {{"approximate", std::string("tanh")}};
  if (op == "is_inf" && g.chance(0.6))
    return {{"detect_negative", g.chance(0.5)}, {"detect_positive", g.chance(0.5)}};
  if (op == "shrink")
    return {{"lambd", g.real(0, 1)}, {"bias", g.chance(0.5) ? 0.0 : g.real(0, 1)}};
  if (op == "selu" && g.chance(0.3)) return {{"alpha", g.real(0.5, 2)}, {"gamma", g.real(0.5, 2)}};
  if (op == "hard_sigmoid" && g.chance(0.5))
    return {{"alpha", g.real(0.1, 0.5)}, {"beta", g.real(0, 1)}};
  if ((op == "leaky_relu" || op == "elu" || op == "celu" || op == "swish" ||
       op == "thresholded_relu") &&
      g.chance(0.6))
    return {{"alpha", g.real(0.05, 1.5)}};
  return {};
}

Domain domain_of(std::string_view op) {
  if (op == "acos" || op == "asin" || op == "atanh") return {-0.99, 0.99};
  if (op == "acosh") return {1, 5};
  if (op == "log" || op == "sqrt" || op == "rsqrt") return {0, 4};
  return {.has_specials = true};
}

/// Returns true for ops whose results are often not determined, or mostly NaN.
bool is_often_refused(std::string_view op) {
  static const std::set<std::string_view> kOps = {
      "tan",   "shrink",  "thresholded_relu", "acos",  "acosh",      "asin",      "atanh", "log",
      "sqrt",  "rsqrt",   "reciprocal",       "floor", "ceil",       "round",     "sign",  "mod",
      "equal", "greater", "greater_equal",    "less",  "less_equal", "not_equal", "power", "prelu"};
  return kOps.contains(op);
}

bool is_for(std::string_view op, DType dtype) {
  if (op.starts_with("logical_")) return dtype == DType::kBool;
  if (op.starts_with("bitwise_")) return is_int(dtype);
  if (op == "bit_shift") return is_int(dtype);
  if (op == "decode_float") return dtype == DType::kU8;
  if (op == "encode_float") return is_float(dtype);
  return true;
}

/// Returns an integer type of as many bits: the bits of integers are seldom those of useful floats.
DType integer_of_size(Grower& g, size_t size) {
  for (;;) {
    auto dtype = static_cast<DType>(g.pick(kDTypeCount));
    if (is_int(dtype) && dtype_size(dtype) == size) return dtype;
  }
}
DType dtype_for(Grower& g, std::string_view op) {
  for (;;) {
    if (auto dtype = static_cast<DType>(g.pick(kDTypeCount)); is_for(op, dtype)) return dtype;
  }
}

/// Returns a value, or a new parameter, of a dtype that the op takes.
Ref operand(Grower& g, std::string_view op) {
  Ref x = g.any();
  if (is_for(op, g.type(x)->dtype)) return x;
  auto there = g.find([&](const TensorType& t) { return is_for(op, t.dtype); });
  return there ? *there : g.parameter(TensorType{dtype_for(g, op), g.shape()});
}

bool grow_unary(Grower& g, const std::string& op) {
  Domain domain = domain_of(op);
  const bool is_narrow = !domain.has_specials;
  if (is_narrow && g.chance(0.7))
    return g.call(op, {g.parameter(TensorType{g.main_dtype(), g.shape()}, domain)}).has_value();
  // Casts of every pair of dtypes; whole numbers are no functions of near ties.
  if (op == "cast" && g.chance(0.6))
    return g.call(op, {g.parameter(TensorType{dtype_for(g, op), g.shape()})}, random_attrs(g, op))
        .has_value();
  const bool takes_floats = is_for(op, DType::kF32);
  Ref x = takes_floats && g.chance(0.8) ? g.any_float() : operand(g, op);
  Attrs attrs = random_attrs(g, op);
  if (op == "bit_cast") attrs.set("to", integer_of_size(g, dtype_size(g.type(x)->dtype)));
  return g.call(op, {x}, attrs).has_value();
}

/// Returns a value that broadcasts with `x`: one of the graph, `x` itself, or a leaf.
Ref partner(Grower& g, Ref x, const Domain& domain) {
  const DType dtype = g.type(x)->dtype;
  if (g.chance(0.03)) return x;
  if (g.chance(0.45)) {
    auto there = g.find([&](const TensorType& t) {
      if (t.dtype != dtype) return false;
      const Shape& s = g.shape_of(x);
      size_t shared = std::min(s.size(), t.shape.size());
      for (size_t k = 1; k <= shared; ++k) {
        Dim a = s[s.size() - k], b = t.shape[t.shape.size() - k];
        if (a != b && a != Dim(1) && b != Dim(1)) return false;
      }
      return true;
    });
    if (there) return *there;
  }
  Shape shape = partner_shape(g, g.shape_of(x));
  if (g.chance(0.1)) shape.insert(shape.begin(), Dim(g.between(1, 3)));
  return g.weight(TensorType{dtype, shape}, domain);
}

bool grow_binary(Grower& g, const std::string& op) {
  Ref x = operand(g, op);
  Domain domain{.has_specials = true};
  if (op == "power") domain = {0.5, 2};
  if (op == "bit_shift") domain = {0, 9};
  if ((op == "divide" || op == "mod") && is_int(g.type(x)->dtype)) domain = {1, 5};
  if (op == "power" && is_float(g.type(x)->dtype) && g.chance(0.7)) x = g.then("abs", {x});
  Ref y = partner(g, x, domain);
  Attrs attrs;
  if (op == "bit_shift") attrs.set("direction", std::string(g.chance(0.5) ? "left" : "right"));
  if (op == "mod") attrs.set("fmod", is_float(g.type(x)->dtype) || g.chance(0.3));
  bool may_swap = op != "prelu" && op != "bit_shift" && op != "power" && op != "mod";
  if (may_swap && g.chance(0.4)) return g.call(op, {y, x}, attrs).has_value();
  return g.call(op, {x, y}, attrs).has_value();
}

bool grow_where(Grower& g) {
  Ref x = g.any();
  TypeId type = TensorType{DType::kBool, partner_shape(g, g.shape_of(x))};
  std::optional<Ref> condition;
  if (g.chance(0.4)) {
    condition = g.find([&](const TensorType& t) {
      return t.dtype == DType::kBool && (t.shape.empty() || t.shape == g.shape_of(x));
    });
  }
  if (!condition) condition = g.weight(type, {0, 1});
  Ref y = partner(g, x, {});
  return g
      .call("where", g.chance(0.5) ? std::vector{*condition, x, y} : std::vector{*condition, y, x})
      .has_value();
}

/// Grows an op of two calls that differ in an attribute alone, or in their operands: equal
/// conditions and windows of different extents meet in one loop.
bool grow_pair(Grower& g) {
  std::optional<Ref> a = g.find([](const TensorType& t) { return is_float(t.dtype); });
  if (!a || a->is_leaf) return false;
  std::optional<Ref> b = g.twin_of(*a);
  if (!b) return false;
  if (g.type(*a) != g.type(*b)) return true;
  g.then(g.one_of<std::string>({"add", "multiply", "maximum", "subtract"}), {*a, *b});
  return true;
}

/// Grows a chain that a code generator fuses.
bool grow_chain(Grower& g) {
  static const std::vector<std::string> kOps = {
      "relu",       "sigmoid", "tanh",    "add",    "multiply", "subtract",
      "maximum",    "gelu",    "exp",     "clip",   "swish",    "hard_swish",
      "leaky_relu", "abs",     "minimum", "divide", "negative"};
  Ref x = g.any_float();
  for (int64_t k = g.between(2, 6); k > 0; --k) {
    const std::string& op = g.one_of(kOps);
    bool is_binary = all_ops().find(op)->inputs.size() == 2;
    Domain domain;
    if (op == "divide") domain = {0.5, 2};
    if (is_binary) x = g.then(op, {x, partner(g, x, domain)});
    else x = g.then(op, {x}, random_attrs(g, op));
  }
  return true;
}

/// Grows a value as integers of few bits and, mostly, back: with one scale, or one per entry.
bool grow_quantized(Grower& g) {
  std::optional<Ref> x = g.find([](const TensorType& t) { return t.dtype == DType::kF32; });
  if (!x) x = g.parameter(TensorType{DType::kF32, g.shape()});
  static const std::vector<DType> kTypes = {DType::kU8, DType::kI8, DType::kI16, DType::kU16};
  const DType to = g.one_of(kTypes);
  Attrs attrs;
  Shape entries;
  if (g.rank(*x) > 0 && g.chance(0.4)) {
    const int64_t axis = random_axis(g, g.rank(*x));
    attrs.set("axis", axis);
    const auto rank = static_cast<int64_t>(g.rank(*x));
    entries = {g.shape_of(*x)[static_cast<size_t>(axis < 0 ? axis + rank : axis)]};
  }
  Ref scale = g.weight(TensorType{DType::kF32, entries}, {0.01, 0.1});
  Ref zero_point = g.weight(TensorType{to, entries}, {0, 100});
  std::optional<Ref> y = g.call("quantize", {*x, scale, zero_point}, attrs);
  if (!y) return false;
  if (g.chance(0.8))
    g.then("dequantize",
           g.chance(0.7) ? std::vector{*y, scale, zero_point} : std::vector{*y, scale}, attrs);
  return true;
}

}  // namespace

std::vector<Family> elementwise_families() {
  std::vector<Family> out;
  for (const OpDef* op : all_ops().all()) {
    if (op->is_annotation || op->name == "requantize") continue;  // grow_integers.cc
    const std::string name = op->name;
    const double weight = is_often_refused(name) ? 2.3 : 1.7;
    if (op->kind == FusionKind::kElementwise && op->inputs.size() == 1)
      out.push_back({name, weight, [name](Grower& g) { return grow_unary(g, name); }, {name}});
    if (op->kind == FusionKind::kBroadcast && op->inputs.size() == 2)
      out.push_back({name, weight, [name](Grower& g) { return grow_binary(g, name); }, {name}});
  }
  // Models consist mostly of arithmetic.
  out.push_back({"arithmetic",
                 4,
                 [](Grower& g) {
                   static const std::vector<std::string> kUsual = {
                       "add", "multiply", "subtract", "maximum", "divide", "minimum"};
                   return grow_binary(g, g.one_of(kUsual));
                 },
                 {}});
  out.push_back({"where", 2, grow_where, {"where"}});
  out.push_back({"quantized", 2, grow_quantized, {"quantize", "dequantize"}});
  out.push_back({"chain", 2, grow_chain, {}});
  out.push_back({"pair", 4, grow_pair, {}});
  out.push_back({"twin", 3, [](Grower& g) { return g.twin().has_value(); }, {}});
  return out;
}

}  // namespace byoc::fuzz
