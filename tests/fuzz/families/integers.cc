// SPDX-License-Identifier: Apache-2.0
// Exact products and sums of integers of 8 bits, and products with matrices of few bits, which the
// pass use_integers writes.
#include <algorithm>

#include "grow.h"

namespace byoc::fuzz {
namespace {

const std::vector<DType>& bytes() {
  static const auto& types = *new std::vector<DType>{DType::kU8, DType::kI8};
  return types;
}

/// Returns the least value of u8 or i8.
int64_t least(DType to) { return to == DType::kU8 ? 0 : -128; }

/// Returns a value of the graph that fits, or nothing: mostly the former.
std::optional<Ref> bytes_of(Grower& g, DType dtype, size_t low, size_t high) {
  if (g.chance(0.25)) return std::nullopt;
  return g.find([&](const TensorType& t) {
    return t.dtype == dtype && t.shape.size() >= low && t.shape.size() <= high &&
           *num_elements(t.shape) > 0;
  });
}

/// Adds the start of the sums and their results of 8 bits, mostly with both. `channel` has the
/// shape of a value per channel.
void follow(Grower& g, Ref sums, const Shape& channel) {
  if (g.chance(0.7))
    sums = g.then("add", {sums, g.weight(TensorType{DType::kI32, channel}, {-5000, 5000})});
  if (g.chance(0.2)) return;
  const DType to = g.one_of(bytes());
  const int64_t low = least(to), zero_point = low + g.between(0, 255);
  Ref factor = g.weight(TensorType{DType::kF32, g.chance(0.7) ? channel : Shape{}}, {0.0005, 0.05});
  g.then("requantize", {sums, factor},
         {{"to", to},
          {"zero_point", zero_point},
          {"min", g.chance(0.5) ? low : zero_point},
          {"max", low + 255 - (zero_point < low + 236 ? g.between(0, 19) : 0)}});
}

/// Grows a product of two values of the run, each less a zero point.
bool grow_pair_of_integers(Grower& g, Ref a, const Dim& n) {
  Shape matrix = g.shape_of(a);
  if (g.chance(0.3)) matrix.erase(matrix.begin(), matrix.end() - 2);
  matrix[matrix.size() - 2] = g.shape_of(a).back(), matrix.back() = n;
  const DType dtype = g.one_of(bytes());
  const double low = static_cast<double>(least(dtype));
  Ref b = g.parameter(TensorType{dtype, matrix}, {low, low + 255});
  auto y = g.call("matmul_integers", {a, b},
                  {{"a_zero", g.between(-128, 255)}, {"b_zero", g.between(-128, 255)}});
  if (y) follow(g, *y, {n});
  return y.has_value();
}

bool grow_matmul_integers(Grower& g) {
  std::optional<Ref> a = bytes_of(g, DType::kU8, 2, 4);
  if (!a) {
    Shape shape = g.chance(0.3) ? Shape{Dim(g.between(1, 3))} : Shape{};
    shape.push_back(Dim(g.between(1, 9)));
    shape.push_back(Dim(g.one_of<int64_t>({1, 3, 4, 7, 8, 16, 33, 70})));
    a = g.parameter(TensorType{DType::kU8, shape}, {0, 255});
  }
  const Dim n(g.one_of<int64_t>({1, 3, 5, 8, 16, 17, 32, 40}));
  if (g.chance(0.4)) return grow_pair_of_integers(g, *a, n);
  Ref b = g.weight(TensorType{DType::kI8, {g.shape_of(*a).back(), n}}, {-128, 127});
  auto y = g.call("matmul_integers", {*a, b});
  if (y) follow(g, *y, {n});
  return y.has_value();
}

/// Returns attributes of a convolution of an image of these extents by a square kernel.
Attrs convolution(Grower& g, int64_t h, int64_t w, int64_t kernel) {
  Ints pads;
  for (size_t k = 0; k < 4; ++k) pads.push_back(g.chance(0.5) ? kernel / 2 : g.between(0, 2));
  const int64_t reach = std::min(h + pads[0] + pads[2], w + pads[1] + pads[3]) - 1;
  const int64_t dilation = 2 * (kernel - 1) <= reach && g.chance(0.15) ? 2 : 1;
  return {{"strides", Ints{g.one_of<int64_t>({1, 1, 2}), g.one_of<int64_t>({1, 1, 2})}},
          {"dilations", Ints{dilation, dilation}},
          {"pads", pads},
          {"pad_value", g.chance(0.3) ? int64_t{0} : g.between(0, 255)}};
}

bool grow_conv_integers(Grower& g) {
  std::optional<Ref> x = bytes_of(g, DType::kU8, 4, 4);
  if (!x) {
    const int64_t c = g.one_of<int64_t>({1, 3, 4, 7, 8, 16, 32});
    x = g.parameter(TensorType{DType::kU8, make_shape(Ints{g.between(1, 2), c, g.between(1, 9),
                                                           g.between(1, 9)})},
                    {0, 255});
  }
  const int64_t c = g.dim(*x, 1), h = g.dim(*x, 2), w = g.dim(*x, 3);
  const bool is_depthwise = g.chance(0.35);
  const int64_t kernel = std::min(g.one_of<int64_t>({1, 1, 2, 3, 3}), std::min(h, w));
  const int64_t o = is_depthwise ? c : g.one_of<int64_t>({1, 3, 8, 16, 17, 32});
  Ref weight =
      g.weight(TensorType{DType::kI8, make_shape(Ints{o, is_depthwise ? 1 : c, kernel, kernel})},
               {-128, 127});
  Attrs attrs = convolution(g, h, w, kernel);
  if (is_depthwise) attrs.set("group", c);
  auto y = g.call("conv2d_integers", {*x, weight}, attrs);
  if (y) follow(g, *y, {Dim(o), Dim(1), Dim(1)});
  return y.has_value();
}

/// Grows the blocked form; the last block of the image may have channels that no weight reads.
bool grow_blocked_conv_integers(Grower& g) {
  const int64_t b = g.one_of<int64_t>({4, 8, 16}), blocks = g.between(1, 3),
                o = b * g.between(1, 2), h = g.between(1, 8), w = g.between(1, 8);
  const bool is_depthwise = g.chance(0.35);
  const int64_t kernel = std::min(g.one_of<int64_t>({1, 2, 3, 3}), std::min(h, w));
  const int64_t c = is_depthwise ? b * blocks : b * (blocks - 1) + g.between(1, b);
  Ref x = g.parameter(TensorType{DType::kU8, make_shape(Ints{1, blocks, h, w, b})}, {0, 255});
  Ref weight = g.weight(
      TensorType{DType::kI8,
                 make_shape(Ints{is_depthwise ? c : o, is_depthwise ? 1 : c, kernel, kernel})},
      {-128, 127});
  Attrs attrs = convolution(g, h, w, kernel);
  attrs.set("block", b);
  if (is_depthwise) attrs.set("group", c);
  auto y = g.call("conv2d_nchwc_integers", {x, weight}, attrs);
  if (y) follow(g, *y, {Dim((is_depthwise ? c : o) / b), Dim(1), Dim(1), Dim(b)});
  return y.has_value();
}

/// Grows a sum of integers of 8 bits. The factors have few digits, so that no product is rounded.
bool grow_add_integers(Grower& g) {
  std::optional<Ref> a = bytes_of(g, g.one_of(bytes()), 0, 6);
  if (!a) a = g.parameter(TensorType{g.one_of(bytes()), g.shape()});
  Ref b = g.weight(TensorType{g.one_of(bytes()), g.shape_of(*a)}, {0, 100});
  const DType to = g.one_of(bytes());
  auto eighths = [&](int64_t low, int64_t high) {
    return static_cast<double>(g.between(low, high)) / 8;
  };
  return g
      .call("add_integers", {*a, b},
            {{"to", to},
             {"a_factor", eighths(0, 24)},
             {"b_factor", eighths(0, 24)},
             {"shift", eighths(-500, 500)},
             {"min", least(to) + g.between(0, 20)},
             {"max", least(to) + 255 - g.between(0, 20)}})
      .has_value();
}

/// Returns rows of k elements: a value of the graph, mostly, whose last dim is at least 1.
Ref rows_of_floats(Grower& g) {
  std::optional<Ref> x = g.find([](const TensorType& t) {
    return t.dtype == DType::kF32 && t.shape.size() >= 2 && t.shape.size() <= 4 &&
           *num_elements(t.shape) > 0;
  });
  if (x && g.chance(0.5)) return *x;
  Shape shape = g.chance(0.4) ? Shape{Dim(g.between(1, 3))} : Shape{};
  shape.push_back(Dim(g.one_of<int64_t>({1, 1, 2, 4, 5, 19})));
  shape.push_back(Dim(g.one_of<int64_t>({1, 7, 16, 40, 64, 70, 130})));
  return g.parameter(TensorType{DType::kF32, shape});
}

int64_t columns(Grower& g) { return g.one_of<int64_t>({1, 5, 16, 17, 32, 33, 64, 75}); }

/// Returns a part of a matrix: mostly all parts are constants, which kernels put into panels.
Ref part_of_matrix(Grower& g, bool is_constant, TypeId type, const Domain& domain) {
  return is_constant ? g.constant(type, domain) : g.weight(type, domain);
}

/// Grows a product with a matrix in blocks, or the matrix and a product with it.
bool grow_matmul_blocks(Grower& g) {
  const Ref x = rows_of_floats(g);
  const int64_t k = g.shape_of(x).back().extent(), n = columns(g);
  const int64_t bits = g.one_of<int64_t>({4, 4, 8}), block = g.one_of<int64_t>({8, 16, 32, 64});
  const int64_t blocks = (k + block - 1) / block;
  const Shape grains = make_shape(Ints{n, blocks});
  const bool is_constant = g.chance(0.8);
  auto part = [&](DType dtype, const Shape& shape, const Domain& domain) {
    return part_of_matrix(g, is_constant, TensorType{dtype, shape}, domain);
  };
  const DType of_scale = g.chance(0.3) ? DType::kF16 : DType::kF32;
  std::vector<Ref> args = {
      part(DType::kU8, make_shape(Ints{n, blocks * block * bits / 8}), {0, 255}),
      part(of_scale, grains, {0.01, 0.1})};
  const double most = bits == 4 ? 15 : 255;
  if (g.chance(0.5)) args.push_back(part(DType::kU8, grains, {0, most}));
  Attrs attrs{{"bits", bits}, {"block", block}};
  const bool is_rounded = g.chance(0.4);
  if (g.chance(0.3)) {
    std::optional<Ref> rows = x;
    if (is_rounded) rows = g.call("round_rows", {x}, {{"block", block}});
    attrs.set("rows", k);
    const std::optional<Ref> matrix = g.call("dequantize_blocks", args, attrs);
    return rows && matrix && g.call("matmul", {*rows, *matrix}).has_value();
  }
  if (is_rounded) attrs.set("row_bits", int64_t{8});
  args.insert(args.begin(), x);
  return g.call("matmul_blocks", args, attrs).has_value();
}

bool grow_matmul_widened(Grower& g) {
  const Ref x = rows_of_floats(g);
  const int64_t k = g.shape_of(x).back().extent(), n = columns(g);
  const bool is_transposed = g.chance(0.4);
  const Ref weight = part_of_matrix(g, g.chance(0.8),
                                    TensorType{g.chance(0.5) ? DType::kF16 : DType::kBF16,
                                               make_shape(is_transposed ? Ints{n, k} : Ints{k, n})},
                                    {-1, 1});
  return g.call("matmul_widened", {x, weight}, {{"trans_b", is_transposed}}).has_value();
}

}  // namespace

std::vector<Family> integer_families() {
  return {{"matmul_integers", 1.5, grow_matmul_integers, {"matmul_integers", "requantize"}},
          {"conv2d_integers", 1.5, grow_conv_integers, {"conv2d_integers", "requantize"}},
          {"conv2d_nchwc_integers",
           1.5,
           grow_blocked_conv_integers,
           {"conv2d_nchwc_integers", "requantize"}},
          {"add_integers", 1.5, grow_add_integers, {"add_integers"}},
          {"matmul_blocks",
           2.0,
           grow_matmul_blocks,
           {"matmul_blocks", "dequantize_blocks", "round_rows"}},
          {"matmul_widened", 1.5, grow_matmul_widened, {"matmul_widened"}},
          qdq_family()};
}

}  // namespace byoc::fuzz
