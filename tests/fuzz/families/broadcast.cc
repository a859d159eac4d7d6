// SPDX-License-Identifier: Apache-2.0
// Anchors whose result an operand broadcasts to a larger one: more rows, a larger batch, a higher
// rank. An op that a plugin computes together with the anchor then has another shape than it.
#include <algorithm>
#include <numbers>

#include "grow.h"

namespace byoc::fuzz {
namespace {

constexpr size_t kMostRank = 5;

/// Returns an extent that an operand may replace: 1 half of the time.
int64_t small_extent(Grower& g) { return g.chance(0.5) ? 1 : g.one_of<int64_t>({2, 3, 5, 8}); }

Shape small_shape(Grower& g, size_t rank) {
  Shape out;
  for (size_t k = 0; k < rank; ++k) out.push_back(Dim(small_extent(g)));
  return out;
}

/// Returns the shape of an operand that broadcasts `shape` to a larger one.
Shape growing_shape(Grower& g, const Shape& shape) {
  Shape out = shape;
  bool grows = false;
  for (size_t k = 0; k < out.size(); ++k) {
    if (shape[k] != Dim(1)) {
      if (g.chance(0.4)) out[k] = Dim(1);
    } else if (g.chance(0.6)) {
      out[k] = Dim(g.between(2, 5));
      grows = true;
    }
  }
  if (out.size() < kMostRank && (!grows || g.chance(0.3))) {
    out.insert(out.begin(), Dim(g.between(1, 3)));
    if (out.size() < kMostRank && g.chance(0.2)) out.insert(out.begin(), Dim(g.between(1, 2)));
  }
  return out;
}

/// Returns a constant of one element, mostly without dims.
Ref number(Grower& g, Ref like, double value) {
  Shape shape;
  if (g.chance(0.2)) shape.assign(1 + g.pick(3), Dim(1));
  return g.constant(TensorType{g.type(like)->dtype, shape}, {value, value});
}

Ref swish_in_pieces(Grower& g, Ref x) { return g.then("multiply", {x, g.then("sigmoid", {x})}); }

Ref mish_in_pieces(Grower& g, Ref x) {
  return g.then("multiply", {x, g.then("tanh", {g.then("softplus", {x})})});
}

Ref hard_swish_in_pieces(Grower& g, Ref x) {
  if (g.chance(0.4)) {
    Ref gate = g.then("hard_sigmoid", {x}, {{"alpha", 1.0 / 6}, {"beta", 0.5}});
    return g.then("multiply", {x, gate});
  }
  Ref gate = g.then("add", {x, number(g, x, 3)});
  gate = g.then("clip", {gate}, {{"min", 0.0}, {"max", 6.0}});
  return g.then("divide", {g.then("multiply", {gate, x}), number(g, x, 6)});
}

Ref gelu_in_pieces(Grower& g, Ref x) {
  Ref erf = g.then("erf", {g.then("divide", {x, number(g, x, std::numbers::sqrt2)})});
  Ref gate = g.then("add", {erf, number(g, x, 1)});
  return g.then("multiply", {g.then("multiply", {gate, x}), number(g, x, 0.5)});
}

/// Adds an activation: one op, or the ops that exporters write instead.
Ref activated(Grower& g, Ref x) {
  static const std::vector<std::string> kWhole = {
      "relu",       "tanh", "sigmoid", "swish", "hard_swish",   "gelu", "mish",
      "leaky_relu", "elu",  "clip",    "abs",   "hard_sigmoid", "exp"};
  static const std::vector<Ref (*)(Grower&, Ref)> kPieces = {swish_in_pieces, mish_in_pieces,
                                                             hard_swish_in_pieces, gelu_in_pieces};
  if (g.chance(0.4)) return g.one_of(kPieces)(g, x);
  const std::string& op = g.one_of(kWhole);
  return g.then(op, {x}, op == "clip" ? Attrs{{"min", 0.0}, {"max", 6.0}} : Attrs{});
}

/// Adds a sum, a product or another op of the result with an operand of that shape.
Ref combined(Grower& g, Ref y, const Shape& shape) {
  static const std::vector<std::string> kOps = {"add",      "add",    "add",     "multiply",
                                                "subtract", "divide", "maximum", "minimum"};
  const std::string& op = g.one_of(kOps);
  const Domain domain = op == "divide" ? Domain{0.5, 2} : Domain{-1, 1};
  Ref other = g.weight(TensorType{g.type(y)->dtype, shape}, domain);
  return g.chance(0.75) ? g.then(op, {y, other}) : g.call(op, {other, y}).value_or(y);
}

Ref grown(Grower& g, Ref y) { return combined(g, y, growing_shape(g, g.shape_of(y))); }

/// Adds up to five ops after an anchor, one of which makes its result larger. `channel`: dims after
/// that of the channels.
void follow(Grower& g, Ref y, size_t channel) {
  const size_t before = g.pick(3), after = g.pick(3);
  for (size_t k = 0; k < before + 1 + after; ++k) {
    const size_t last = std::max<size_t>(g.rank(y), 1) - 1;
    if (k == before) y = grown(g, y);
    else if (g.chance(0.5)) y = activated(g, y);
    else if (g.chance(0.25)) y = grown(g, y);
    else if (g.rank(y) == 0) y = combined(g, y, {});
    else y = combined(g, y, operand_shape(g, g.shape_of(y), last - std::min(channel, last)));
  }
}

bool grow_product(Grower& g) {
  const DType dtype = g.main_dtype();
  const Dim k(g.one_of<int64_t>({1, 3, 8, 16})), n(g.one_of<int64_t>({1, 4, 8, 16, 17}));
  const Dim m(small_extent(g));
  std::optional<Ref> y;
  if (g.chance(0.3)) {
    const bool ta = g.chance(0.3), tb = g.chance(0.5);
    Ref a = g.parameter(TensorType{dtype, ta ? Shape{k, m} : Shape{m, k}});
    Ref b = g.weight(TensorType{dtype, tb ? Shape{n, k} : Shape{k, n}}, {-1, 1});
    y = g.call("gemm", {a, b}, {{"trans_a", ta}, {"trans_b", tb}});
  } else {
    Shape a = small_shape(g, g.pick(3)), b;
    if (g.chance(0.4)) b = partner_shape(g, a);  // more than one matrix
    if (g.chance(0.9)) a.push_back(m);
    a.push_back(k);
    b.push_back(k);
    if (g.chance(0.95)) b.push_back(n);
    Ref left = g.parameter(TensorType{dtype, a});
    y = g.call("matmul", {left, g.weight(TensorType{dtype, b}, {-1, 1})});
  }
  if (y) follow(g, *y, 0);
  return y.has_value();
}

/// Returns an image whose batch, channels or pixels are often 1.
Ref small_image(Grower& g, size_t spatial) {
  Shape shape = {Dim(g.chance(0.6) ? 1 : 2), Dim(g.one_of<int64_t>({1, 1, 3, 8, 16}))};
  for (size_t k = 0; k < spatial; ++k) shape.push_back(Dim(g.chance(0.4) ? 1 : g.between(2, 5)));
  return g.parameter(TensorType{g.main_dtype(), shape});
}

bool grow_window(Grower& g) {
  static const std::vector<std::string> kPools = {"max_pool", "average_pool", "global_max_pool",
                                                  "global_average_pool"};
  const size_t spatial = 1 + g.pick(3);
  Ref x = small_image(g, spatial);
  std::optional<Ref> y;
  if (g.chance(0.6)) {
    const bool is_transposed = g.chance(0.35);
    const Dim o(g.one_of<int64_t>({1, 1, 3, 8, 16}));
    Shape weight = {o, Dim(g.dim(x, 1))};
    if (is_transposed) std::swap(weight[0], weight[1]);
    for (size_t k = 0; k < spatial; ++k)
      weight.push_back(Dim(is_transposed ? g.between(1, 3) : g.between(1, g.dim(x, 2 + k))));
    y = g.call(cat("conv", spatial, is_transposed ? "d_transpose" : "d"),
               {x, g.weight(TensorType{g.main_dtype(), weight}, {-1, 1})});
  } else {
    const std::string& op = g.one_of(kPools);
    Ints kernel;
    for (size_t k = 0; k < spatial; ++k) kernel.push_back(g.between(1, g.dim(x, 2 + k)));
    y = g.call(op, {x}, op.starts_with("global") ? Attrs{} : Attrs{{"kernel_shape", kernel}});
  }
  if (y) follow(g, *y, spatial);
  return y.has_value();
}

bool grow_broadcast_reduction(Grower& g) {
  static const std::vector<std::string> kOps = {"sum",         "mean",       "max",       "min",
                                                "prod",        "l1",         "l2",        "softmax",
                                                "log_softmax", "sum_square", "layer_norm"};
  const std::string& op = g.one_of(kOps);
  Ref x = g.parameter(TensorType{g.main_dtype(), small_shape(g, 1 + g.pick(4))});
  const int64_t axis = random_axis(g, g.rank(x));
  std::optional<Ref> y;
  if (op == "softmax" || op == "log_softmax") y = g.call(op, {x}, {{"axis", axis}});
  else if (op == "layer_norm" && g.shape_of(x).back() == Dim(2)) return false;  // grow_norm
  else if (op == "layer_norm")
    y = g.call(op, {x, g.weight(TensorType{g.main_dtype(), {g.shape_of(x).back()}}, {0.5, 2})});
  else y = g.call(op, {x}, {{"axes", Ints{axis}}, {"keepdims", g.chance(0.7)}});
  if (y) follow(g, *y, 0);
  return y.has_value();
}

}  // namespace

std::vector<Family> broadcast_families() {
  return {{"grown product", 6, grow_product, {}},
          {"grown image", 4, grow_window, {}},
          {"grown reduction", 3, grow_broadcast_reduction, {}}};
}

}  // namespace byoc::fuzz
