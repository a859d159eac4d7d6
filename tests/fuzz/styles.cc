// SPDX-License-Identifier: Apache-2.0
// Graphs in the style of convolutional networks, of transformers, and of neither.
#include <algorithm>

#include "grow.h"

namespace byoc::fuzz {
namespace {

/// Chooses a family by weight.
const Family& any_family(Grower& g) {
  static const double total = [] {
    double sum = 0;
    for (const Family& family : all_families()) sum += family.weight;
    return sum;
  }();
  double at = g.real(0, total);
  for (const Family& family : all_families()) {
    if ((at -= family.weight) <= 0) return family;
  }
  return all_families().back();
}

void grow_any(Grower& g) { any_family(g).grow(g); }

/// Half of these graphs have ops of a few families alone, so that the same ones meet each other in
/// many ways; some of them are chains, in which each op reads the one before.
void grow_noise(Grower& g) {
  const size_t steps = g.chance(0.2) ? 1 + g.pick(3) : 9 + g.pick(24);
  std::vector<const Family*> few;
  if (g.chance(0.5)) {
    for (int64_t k = g.between(2, 8); k > 0; --k) few.push_back(&any_family(g));
  }
  g.prefer_newest(g.chance(0.3));
  for (size_t tries = 0; g.steps() < steps && tries < 6 * steps; ++tries)
    (few.empty() ? any_family(g) : *g.one_of(few)).grow(g);
}

void noise_now_and_then(Grower& g) {
  if (g.chance(0.3)) grow_any(g);
  if (g.chance(0.15)) g.twin();
}

/// Returns a parameter that is constant in most models.
Ref weights(Grower& g, std::vector<int64_t> dims, Domain domain = {-1, 1}) {
  return g.weight(TensorType{g.main_dtype(), make_shape(dims)}, domain);
}

/// Returns an operand along the last dim most of the time, else along other dims.
Ref vector(Grower& g, Ref y) {
  const size_t axis = g.rank(y) - 1;
  return g.weight(TensorType{g.main_dtype(), operand_shape(g, g.shape_of(y), axis)}, {-1, 1});
}

/// Adds what usually follows a convolution: a norm or factors, and an activation.
Ref after_conv(Grower& g, Ref y) {
  const int64_t channels = g.dim(y, 1);
  if (g.chance(0.4)) {
    y = g.then("batch_norm", {y, weights(g, {channels}, {0.5, 2}), weights(g, {channels}),
                              weights(g, {channels}), weights(g, {channels}, {0.3, 2})});
  } else if (g.chance(0.7)) {
    y = scaled_and_shifted(g, y, 1);
  }
  switch (g.pick(5)) {
    case 0:
      return y;
    case 1:
      return g.then("clip", {y}, {{"min", 0.0}, {"max", 6.0}});
    case 2:
      return g.then(
          g.one_of<std::string>({"swish", "hard_swish", "sigmoid", "leaky_relu", "gelu", "tanh"}),
          {y});
    default:
      return g.then("relu", {y});
  }
}

Ref conv_block(Grower& g, Ref x) {
  const int64_t c = g.dim(x, 1);
  const bool depthwise = g.chance(0.2);
  const int64_t o = depthwise       ? c
                    : g.chance(0.4) ? g.dim(x, 1 + g.pick(3))
                                    : g.one_of<int64_t>({3, 4, 8, 16, 16, 24, 32});
  const int64_t k = g.one_of<int64_t>({1, 3, 3, 5}), stride = g.chance(0.25) ? 2 : 1;
  Attrs attrs{{"pads", Ints(4, k / 2)},
              {"strides", Ints{stride, stride}},
              {"group", depthwise ? c : int64_t{1}}};
  return after_conv(g, g.then("conv2d", {x, weights(g, {o, depthwise ? 1 : c, k, k})}, attrs));
}

Ref squeeze_excite(Grower& g, Ref x) {
  const int64_t c = g.dim(x, 1);
  Ref y = g.then("global_average_pool", {x});
  y = g.then("conv2d", {y, weights(g, {2, c, 1, 1})});
  y = g.then("relu", {y});
  y = g.then("conv2d", {y, weights(g, {c, g.dim(y, 1), 1, 1})});
  y = g.then(g.chance(0.5) ? "sigmoid" : "hard_sigmoid", {y});
  return g.then("multiply", {x, y});
}

Ref shuffle_channels(Grower& g, Ref x) {
  if (g.dim(x, 1) % 2 != 0) return x;
  const int64_t n = g.dim(x, 0), c = g.dim(x, 1), h = g.dim(x, 2), w = g.dim(x, 3);
  Ref y = g.then("reshape", {x}, {{"shape", Ints{n, 2, c / 2, h, w}}});
  if (g.rank(y) != 5) return x;
  y = g.then("transpose", {y}, {{"perm", Ints{0, 2, 1, 3, 4}}});
  return g.then("reshape", {y}, {{"shape", Ints{n, c, h, w}}});
}

Ref pooled(Grower& g, Ref x) {
  if (g.chance(0.5)) x = conv_block(g, x);  // whose result may be in blocks
  if (g.dim(x, 2) < 3 || g.dim(x, 3) < 3) return x;
  const int64_t k = g.between(2, 3);
  Ints pads(4, g.chance(0.5) ? k / 2 : 0);
  for (int64_t& pad : pads) {
    if (g.chance(0.3)) pad = g.between(0, k - 1);
  }
  return g.then(
      g.chance(0.6) ? "max_pool" : "average_pool", {x},
      {{"kernel_shape", Ints{k, k}}, {"strides", Ints{2, g.between(1, 2)}}, {"pads", pads}});
}

Ref branched(Grower& g, Ref x) {
  Ref a = conv_block(g, x), b = g.chance(0.5) ? conv_block(g, x) : x;
  if (g.chance(0.4)) b = g.then("tanh", {a});  // of the same type, and perhaps in the same blocks
  const bool is_equal = g.type(a) == g.type(b);
  if (is_equal && g.chance(0.6)) return g.then("relu", {g.then("add", {a, b})});
  const int64_t axis = is_equal ? g.one_of<int64_t>({1, 1, 0, 2, 3, -3, -1}) : 1;
  return g.then("concat", {a, b}, {{"axis", axis}});
}

void grow_cnn(Grower& g) {
  const int64_t side = g.favourite() > 3 ? g.favourite() : g.between(4, 12);
  Ref x = g.parameter(TensorType{g.main_dtype(),
                                 {Dim(g.between(1, 2)), Dim(g.one_of<int64_t>({1, 3, 4, 8})),
                                  Dim(side), Dim(g.chance(0.8) ? side : g.between(1, 12))}});
  for (int64_t k = g.between(1, 4); k > 0; --k) {
    switch (g.pick(8)) {
      case 0:
      case 7:
        x = pooled(g, x);
        break;
      case 1:
        x = squeeze_excite(g, x);
        break;
      case 2:
        x = shuffle_channels(g, x);
        break;
      case 3:
      case 4:
        x = branched(g, x);
        break;
      case 5:
        x = g.then("resize", {x},
                   {{"scales", Floats{1, 1, 2, 2}},
                    {"mode", g.one_of<std::string>({"nearest", "linear"})}});
        break;
      default:
        x = conv_block(g, x);
    }
    noise_now_and_then(g);
  }
  if (g.chance(0.5)) x = g.then("global_average_pool", {x});
  if (g.chance(0.6)) {
    x = g.then("flatten", {x});
    x = g.then("gemm", {x, weights(g, {5, g.dim(x, 1)})}, {{"trans_b", true}});
    x = g.then("add", {x, weights(g, {5})});
    if (g.chance(0.5)) x = g.then("softmax", {x});
  }
}

/// Returns a convolution of an image in blocks of channels, with a window that some compute of its
/// own is for, any pads, and results that tiles do not divide.
Ref conv_in_blocks(Grower& g, Ref x) {
  static const std::vector<Ints> kWindows = {{3, 3}, {3, 3}, {3, 3}, {1, 3}, {3, 1},
                                             {1, 7}, {7, 1}, {1, 1}, {1, 1}, {5, 5}};
  const Ints& window = kWindows[g.pick(kWindows.size())];
  Ints pads;
  for (size_t k = 0; k < 4; ++k)
    pads.push_back(g.chance(0.7) ? window[k % 2] / 2 : g.between(0, window[k % 2] - 1));
  const int64_t o = g.one_of<int64_t>({8, 16, 16, 24, 32, 40, 48}), stride = g.chance(0.1) ? 2 : 1;
  return g.then("conv2d", {x, weights(g, {o, g.dim(x, 1), window[0], window[1]})},
                {{"pads", pads}, {"strides", Ints{stride, stride}}});
}

void grow_images(Grower& g) {
  Ref x = g.parameter(TensorType{g.main_dtype(),
                                 {Dim(g.between(1, 2)), Dim(g.one_of<int64_t>({8, 16, 32, 48})),
                                  Dim(g.between(1, 14)), Dim(g.between(1, 17))}},
                      {-1.5, 1.5});  // without NaN and infinities, which exclude tiles
  for (int64_t k = g.between(1, 3); k > 0; --k) {
    if (g.rank(x) != 4) return;
    Ref y = after_conv(g, conv_in_blocks(g, x));
    if (g.type(x) == g.type(y)) y = g.then("add", {x, y});
    x = g.chance(0.2) ? pooled(g, y) : y;
  }
}

Ref conv_of_pixels(Grower& g, Ref x, int64_t o) {
  return g.then("conv2d", {x, weights(g, {o, g.dim(x, 1), 1, 1})});
}

/// Returns a convolution of every channel with itself, with any pads.
Ref conv_of_channels(Grower& g, Ref x) {
  const int64_t c = g.dim(x, 1), k = g.one_of<int64_t>({3, 3, 5}), stride = g.between(1, 2);
  const int64_t dilation = g.chance(0.2) ? g.between(2, 4) : 1;
  Ints pads;
  for (size_t side = 0; side < 4; ++side)
    pads.push_back(g.chance(0.7) ? k / 2 * dilation : g.between(0, k - 1));
  return g.then("conv2d", {x, weights(g, {c, 1, k, k})},
                {{"pads", pads},
                 {"strides", Ints{stride, stride}},
                 {"dilations", Ints{dilation, dilation}},
                 {"group", c}});
}

// Depthwise convolutions of images of about 1 MiB: larger ones are one kernel with the convolutions
// of one pixel each around them.
void grow_chains(Grower& g) {
  g.set_most_elements(int64_t{1} << 20);
  const int64_t mid = g.one_of<int64_t>({32, 40, 48}), h = g.between(70, 100);
  const int64_t w = (int64_t{1} << 18) / (mid * h) + g.between(0, 9);
  const bool expands = g.chance(0.7);
  const int64_t c = expands ? g.one_of<int64_t>({8, 16, 24}) : mid;
  Ref x =
      g.parameter(TensorType{g.main_dtype(), {Dim(g.chance(0.2) ? 2 : 1), Dim(c), Dim(h), Dim(w)}},
                  {-1.5, 1.5});
  Ref image = expands ? after_conv(g, conv_of_pixels(g, x, mid)) : x;
  Ref y = after_conv(g, conv_of_channels(g, image));
  if (g.chance(0.7)) y = after_conv(g, conv_of_pixels(g, y, g.one_of<int64_t>({8, 16, 24, c})));
  if (g.type(x) == g.type(y)) y = g.then("add", {x, y});
  if (g.chance(0.1)) g.then("reduce_max", {image});
}

Ref projection(Grower& g, Ref x, int64_t to) {
  Ref y = g.then("matmul", {x, weights(g, {g.shape_of(x).back().extent(), to})});
  return g.chance(0.7) ? g.then("add", {y, vector(g, y)}) : y;
}

Ref norm(Grower& g, Ref x) {
  const int64_t d = g.shape_of(x).back().extent();
  if (g.chance(0.25)) return g.then("rms_norm", {x, weights(g, {d}, {0.5, 2})});
  return g.then("layer_norm", {x, weights(g, {d}, {0.5, 2}), weights(g, {d})});
}

/// Splits [b, t, d] into [b, heads, t, d / heads].
Ref heads_of(Grower& g, Ref x, int64_t heads) {
  const int64_t b = g.dim(x, 0), t = g.dim(x, 1), d = g.dim(x, 2);
  Ref y = g.then("reshape", {x}, {{"shape", Ints{b, t, heads, d / heads}}});
  return g.then("transpose", {y}, {{"perm", Ints{0, 2, 1, 3}}});
}

Ref masked(Grower& g, Ref scores, int64_t t) {
  if (g.chance(0.5)) return scores;
  std::vector<double> mask;
  const double hidden =
      g.type(scores)->dtype == DType::kF16 ? -1e3 : g.one_of<double>({-1e4, -1e9, -3e38});
  for (int64_t row = 0; row < t; ++row) {
    for (int64_t column = 0; column < t; ++column) mask.push_back(column > row ? hidden : 0);
  }
  return g.then("add", {scores, g.constant_ints(g.type(scores)->dtype, {t, t}, mask)});
}

Ref attention(Grower& g, Ref x) {
  const int64_t b = g.dim(x, 0), t = g.dim(x, 1), d = g.dim(x, 2), heads = d % 2 == 0 ? 2 : 1;
  Ref q, k, v;
  if (g.chance(0.4)) {
    Ref all = projection(g, x, 3 * d);
    if (g.shape_of(all).back() != Dim(3 * d)) return x;
    auto split = g.call("split", {all}, {{"axis", int64_t{2}}, {"split", Ints{d, d, d}}});
    if (!split) return x;
    q = *split, k = {false, split->index, 1}, v = {false, split->index, 2};
  } else {
    q = projection(g, x, d), k = projection(g, x, d), v = projection(g, x, d);
  }
  if (g.chance(0.2)) {  // all heads share keys and values
    k = heads_of(g, projection(g, x, d / heads), 1),
    v = heads_of(g, projection(g, x, d / heads), 1);
  } else {
    k = heads_of(g, k, heads), v = heads_of(g, v, heads);
  }
  q = heads_of(g, q, heads);
  if (g.rank(q) != 4 || g.rank(k) != 4 || g.rank(v) != 4) return x;
  Ref kt = g.then("transpose", {k}, {{"perm", Ints{0, 1, 3, 2}}});
  Ref scores = g.then("matmul", {q, kt});
  Ref scale = g.constant(TensorType{g.main_dtype(), {}}, {0.4, 0.6});
  scores = g.then(g.chance(0.5) ? "multiply" : "divide", {scores, scale});
  if (g.chance(0.2)) scores = g.then("tanh", {scores});
  scores = g.then("softmax", {masked(g, scores, t)});
  if (g.chance(0.15)) scores = g.then("multiply", {scores, scale});
  Ref y = g.then("matmul", {scores, v});
  if (g.chance(0.1)) return g.then("add", {x, g.then("reduce_sum", {scores})});
  y = g.then("transpose", {y}, {{"perm", Ints{0, 2, 1, 3}}});
  y = g.then("reshape", {y}, {{"shape", Ints{b, t, d}}});
  return projection(g, y, d);
}

Ref feed_forward(Grower& g, Ref x) {
  const int64_t d = g.dim(x, 2);
  Ref y = projection(g, x, 2 * d);
  if (g.chance(0.3)) {
    Ref gate = g.then("swish", {projection(g, x, 2 * d)});
    y = g.then("multiply", {y, gate});
  } else {
    y = g.then(g.one_of<std::string>({"gelu", "relu", "swish", "tanh"}), {y});
  }
  return projection(g, y, d);
}

Ref embedded(Grower& g, int64_t b, int64_t t, int64_t d) {
  if (g.chance(0.5))
    return g.parameter(TensorType{g.main_dtype(), make_shape(std::vector{b, t, d})});
  std::vector<double> ids;
  for (int64_t k = 0; k < b * t; ++k) ids.push_back(static_cast<double>(g.between(0, 9)));
  Ref rows = g.constant_ints(DType::kI64, {b, t}, ids);
  return g.then("add", {g.then("gather", {weights(g, {10, d}), rows}), weights(g, {t, d})});
}

// With 16 tokens and more, attention may be one kernel.
void grow_transformer(Grower& g) {
  const int64_t b = g.between(1, 2), t = g.chance(0.5) ? g.between(15, 37) : g.between(1, 7);
  const int64_t d = g.one_of<int64_t>({4, 6, 8, 16});
  Ref x = embedded(g, b, t, d);
  for (int64_t k = g.between(1, 2); k > 0; --k) {
    for (bool attends : {true, false}) {
      if (g.rank(x) != 3 || g.chance(0.2)) continue;
      Ref y = g.chance(0.6) ? norm(g, x) : x;
      y = attends ? attention(g, y) : feed_forward(g, y);
      if (g.type(x) == g.type(y)) y = g.then("add", {x, y});
      x = g.chance(0.4) ? norm(g, y) : y;
      noise_now_and_then(g);
    }
  }
}

}  // namespace

namespace {

Case grown(uint64_t seed, Style style) {
  Grower choice(seed * 0x9e3779b97f4a7c15 + 17, DType::kF32);
  DType dtype = DType::kF32;
  if (style != Style::kChains && choice.chance(0.2))
    dtype = choice.one_of<DType>({DType::kF64, DType::kF16, DType::kBF16});
  Grower g(seed * 0xd1342543de82ef95 + static_cast<uint64_t>(style), dtype);
  if (style == Style::kCnn) grow_cnn(g);
  else if (style == Style::kTransformer) grow_transformer(g);
  else if (style == Style::kImages) grow_images(g);
  else if (style == Style::kChains) grow_chains(g);
  else grow_noise(g);
  return g.finish();
}

}  // namespace

// Checks steps as they are added, with other rounding errors than the whole graph: one in fifty is
// found to be near a decision then, and another graph replaces it.
Case random_case(uint64_t seed, Style style) {
  for (uint64_t attempt = 0;; ++attempt) {
    Case graph = grown(seed + (attempt << 40), style);
    if (attempt == 8 || evaluate_case(graph, kOracleSeed).ok()) return graph;
  }
}

}  // namespace byoc::fuzz
