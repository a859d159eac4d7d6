// SPDX-License-Identifier: Apache-2.0
// Products and convolutions in i32 of bytes less their zero points, as the importer writes
// MatMulInteger and ConvInteger: the zero points of runs or of the file, weights of either sign.
#include <algorithm>

#include "grow.h"

namespace byoc::fuzz {
namespace {

/// Adds x - zero in i32. The zero point is missing, a constant or of a run; as bytes or as i32.
std::optional<Ref> less_zero(Grower& g, Ref x) {
  std::optional<Ref> wide = g.call("cast", {x}, {{"to", DType::kI32}});
  if (!wide || g.chance(0.2)) return wide;
  const bool is_byte = g.chance(0.8);
  const DType dtype = is_byte ? g.type(x)->dtype : DType::kI32;
  const Domain range = dtype == DType::kU8 ? Domain{0, 255} : Domain{-128, 127};
  const TensorType type{dtype, g.chance(0.8) ? Shape{} : Shape{Dim(1)}};
  std::optional<Ref> zero = g.chance(0.3) ? g.constant(type, range) : g.parameter(type, range);
  if (is_byte) zero = g.call("cast", {*zero}, {{"to", DType::kI32}});
  return zero ? g.call("subtract", {*wide, *zero}) : std::nullopt;
}

/// Adds the weights in i32: of bytes less a constant, or as they are.
std::optional<Ref> exact_weights(Grower& g, const Shape& shape) {
  const DType dtype = g.one_of<DType>({DType::kU8, DType::kI8, DType::kI32});
  const Domain range = dtype == DType::kU8 ? Domain{0, 255} : Domain{-128, 127};
  std::optional<Ref> w = g.chance(0.9) ? g.constant(TensorType{dtype, shape}, range)
                                       : g.weight(TensorType{dtype, shape}, range);
  if (dtype != DType::kI32) w = g.call("cast", {*w}, {{"to", DType::kI32}});
  if (!w || g.chance(0.5)) return w;
  return g.call("subtract", {*w, g.constant(TensorType{DType::kI32, {}}, {-255, 255})});
}

Ref image_of_bytes(Grower& g, const Ints& extents) {
  const DType dtype = g.chance(0.6) ? DType::kU8 : DType::kI8;
  const Domain range = dtype == DType::kU8 ? Domain{0, 255} : Domain{-128, 127};
  return g.parameter(TensorType{dtype, make_shape(extents)}, range);
}

bool follow_exact(Grower& g, std::optional<Ref> sums) {
  if (!sums) return false;
  if (g.chance(0.5)) return true;
  std::optional<Ref> floats = g.call("cast", {*sums}, {{"to", DType::kF32}});
  if (floats) g.then("multiply", {*floats, g.weight(TensorType{DType::kF32, {}}, {0.0005, 0.05})});
  return true;
}

bool grow_exact_product(Grower& g) {
  const int64_t k = g.one_of<int64_t>({1, 3, 4, 7, 16, 33}), n = g.one_of<int64_t>({1, 5, 16, 35});
  const std::optional<Ref> x = less_zero(g, image_of_bytes(g, {g.between(1, 9), k}));
  const std::optional<Ref> w = exact_weights(g, make_shape(Ints{k, n}));
  return x && w && follow_exact(g, g.call("matmul", {*x, *w}));
}

/// Grows a convolution of a row.
bool grow_exact_row(Grower& g) {
  const int64_t c = g.one_of<int64_t>({1, 3, 8, 16}), w = g.between(1, 20),
                kernel = std::min(g.between(1, 4), w), group = g.chance(0.3) ? c : 1,
                o = group > 1 ? c : g.one_of<int64_t>({1, 8, 17});
  const std::optional<Ref> x = less_zero(g, image_of_bytes(g, {g.between(1, 2), c, w}));
  const std::optional<Ref> weight = exact_weights(g, make_shape(Ints{o, c / group, kernel}));
  Attrs attrs{{"strides", Ints{g.between(1, 2)}}, {"group", group}};
  if (g.chance(0.7)) attrs.set("pads", Ints{g.between(0, 2), g.between(0, 2)});
  return x && weight && follow_exact(g, g.call("conv1d", {*x, *weight}, attrs));
}

bool grow_exact_convolution(Grower& g) {
  const int64_t c = g.one_of<int64_t>({1, 3, 4, 8, 16, 17}), h = g.between(1, 9),
                w = g.between(1, 9), kernel = std::min(g.one_of<int64_t>({1, 2, 3}), h);
  const bool is_by_channel = g.chance(0.3);
  const int64_t o = is_by_channel ? c : g.one_of<int64_t>({1, 3, 8, 16, 17});
  const std::optional<Ref> x = less_zero(g, image_of_bytes(g, {g.between(1, 2), c, h, w}));
  const std::optional<Ref> weight =
      exact_weights(g, make_shape(Ints{o, is_by_channel ? 1 : c, kernel, std::min(kernel, w)}));
  Ints pads;
  for (size_t k = 0; k < 4; ++k) pads.push_back(g.chance(0.5) ? kernel / 2 : g.between(0, 2));
  const Ints strides{g.one_of<int64_t>({1, 1, 2}), g.one_of<int64_t>({1, 1, 2})};
  Attrs attrs{{"strides", strides}, {"group", is_by_channel ? c : int64_t{1}}};
  if (g.chance(0.7)) attrs.set("pads", pads);
  return x && weight && follow_exact(g, g.call("conv2d", {*x, *weight}, attrs));
}

}  // namespace

std::vector<Family> exact_families() {
  return {{"exact_matmul", 2.0, grow_exact_product, {"matmul", "subtract"}},
          {"exact_conv1d", 1.5, grow_exact_row, {"conv1d", "subtract"}},
          {"exact_conv2d", 3.0, grow_exact_convolution, {"conv2d", "subtract"}}};
}

}  // namespace byoc::fuzz
