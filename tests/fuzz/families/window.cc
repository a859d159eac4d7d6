// SPDX-License-Identifier: Apache-2.0
// Convolution, pooling, sampling of images.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "grow.h"

namespace byoc::fuzz {
namespace {

/// Returns a float image [n, c, spatial...] with elements: one of the graph, or another value in
/// that shape, or a new parameter.
Ref image(Grower& g, size_t spatial) {
  auto there = g.find([&](const TensorType& t) {
    return is_float(t.dtype) && t.shape.size() == spatial + 2 && *num_elements(t.shape) > 0;
  });
  if (there && g.chance(0.75)) return *there;
  Shape shape = {Dim(g.between(1, 2)), Dim(g.one_of<int64_t>({1, 2, 3, 4, 5, 8, 12, 16}))};
  for (size_t k = 0; k < spatial; ++k) shape.push_back(Dim(g.between(1, spatial > 2 ? 5 : 9)));
  for (size_t k = 1; k < shape.size() && spatial < 3; ++k) {
    if (g.favourite() > 0 && g.chance(0.5)) shape[k] = Dim(g.favourite());
  }
  return g.parameter(TensorType{g.main_dtype(), shape});
}

/// Returns window attributes that fit the image.
Attrs window(Grower& g, Ref x, const Ints& kernel, bool is_pool) {
  const size_t n = kernel.size();
  Ints strides(n, 1), dilations(n, 1), pads(2 * n, 0);
  const bool same = g.chance(0.4);
  for (size_t k = 0; k < n; ++k) {
    if (g.chance(0.35)) strides[k] = g.between(1, 3);
    if (g.chance(0.15)) dilations[k] = g.between(1, 2);
    int64_t reach = dilations[k] * (kernel[k] - 1);
    for (size_t side : {k, k + n})
      pads[side] = same ? reach / 2
                   : g.chance(0.4)
                       ? g.between(0, std::max<int64_t>(is_pool ? kernel[k] - 1 : reach, 0))
                       : 0;
    int64_t in = g.dim(x, k + 2);
    if (in + pads[k] + pads[k + n] <= reach) dilations[k] = 1;
  }
  return {{"strides", strides}, {"dilations", dilations}, {"pads", pads}};
}

Ints random_kernel(Grower& g, Ref x, size_t spatial) {
  Ints kernel;
  const bool square = g.chance(0.6);
  int64_t side = g.one_of<int64_t>({1, 1, 2, 3, 3, 3, 5});
  for (size_t k = 0; k < spatial; ++k) {
    int64_t size = square ? side : g.between(1, 3);
    kernel.push_back(std::min(size, g.dim(x, k + 2) + 1));
  }
  return kernel;
}

/// Adds the ops that follow a convolution in models: bias, batch norm, activation, residual.
void follow_window(Grower& g, Ref y) {
  const DType dtype = g.type(y)->dtype;
  TypeId channels = TensorType{dtype, {Dim(g.dim(y, 1))}};
  if (g.chance(0.6)) y = scaled_and_shifted(g, y, 1);
  if (g.chance(0.3)) {
    y = g.then("batch_norm", {y, g.constant(channels, {0.5, 2}), g.constant(channels),
                              g.constant(channels), g.constant(channels, {0.3, 2})});
  }
  if (g.chance(0.3)) {
    auto other = g.find([&](const TensorType& t) { return TypeId(t) == g.type(y); });
    if (other)
      y = g.chance(0.7) ? g.then("add", {y, *other}) : g.call("add", {*other, y}).value_or(y);
  }
  static const std::vector<std::string> kActivations = {
      "relu",       "relu", "sigmoid", "tanh",         "swish",    "hard_swish", "elu",
      "leaky_relu", "gelu", "mish",    "hard_sigmoid", "softplus", "abs",        "exp"};
  if (g.chance(0.4)) y = g.then(g.one_of(kActivations), {y});
  else if (g.chance(0.3))
    y = g.then("clip", {y}, {{"min", 0.0}, {"max", g.chance(0.5) ? 6.0 : 1.0}});
}

bool grow_conv(Grower& g, size_t spatial) {
  Ref x = image(g, spatial);
  const int64_t c = g.dim(x, 1);
  int64_t group = 1;
  if (g.chance(0.3)) group = c;
  else if (c % 2 == 0 && g.chance(0.2)) group = 2;
  int64_t o = group * g.between(1, group > 2 ? 2 : 5);
  if (group == 1 && g.chance(0.3)) o = g.one_of<int64_t>({8, 16, 24, 32});
  if (group == 1 && g.chance(0.1)) o = g.between(9, 40);  // most of them no block divides
  if (group == 1 && g.chance(0.2)) o = g.dim(x, g.rank(x) - 1);
  Ints kernel = random_kernel(g, x, spatial);
  if (spatial == 3 && g.chance(0.3)) kernel[1] = kernel[2] = 1;  // over time
  Shape weight = {Dim(o), Dim(c / group)};
  for (int64_t k : kernel) weight.push_back(Dim(k));
  Attrs attrs = window(g, x, kernel, false);
  attrs.set("group", group);
  auto y = g.call(cat("conv", spatial, "d"),
                  {x, g.weight(TensorType{g.type(x)->dtype, weight}, {-1, 1})}, attrs);
  if (y) follow_window(g, *y);
  return y.has_value();
}

/// Returns window attributes of a transposed convolution: any stride, dilation, pad and output
/// padding with which the result has cells.
Attrs transposed_window(Grower& g, Ref x, const Ints& kernel) {
  const size_t n = kernel.size();
  Ints strides, dilations, pads(2 * n, 0), output_padding;
  for (size_t k = 0; k < n; ++k) {
    strides.push_back(g.chance(0.08) ? g.between(4, 8) : g.between(1, 3));
    dilations.push_back(g.chance(0.25) ? g.between(2, 3) : 1);
    output_padding.push_back(g.chance(0.4) ? g.between(0, std::max(strides[k], dilations[k]) - 1)
                                           : 0);
    const int64_t reach = dilations[k] * (kernel[k] - 1);
    int64_t spare = (g.dim(x, k + 2) - 1) * strides[k] + reach + output_padding[k];
    for (size_t side : {k, k + n}) {
      if (g.chance(0.6)) pads[side] = g.between(0, std::min(reach, spare));
      spare -= pads[side];
    }
  }
  return {{"strides", strides},
          {"dilations", dilations},
          {"pads", pads},
          {"output_padding", output_padding}};
}

bool grow_conv_transpose(Grower& g, size_t spatial) {
  Ref x = image(g, spatial);
  const int64_t c = g.dim(x, 1);
  const int64_t group = g.chance(0.2) ? c : c % 2 == 0 && g.chance(0.25) ? 2 : 1;
  Shape weight = {Dim(c), Dim(g.chance(0.2) ? g.one_of<int64_t>({8, 16}) : g.between(1, 4))};
  Ints kernel;  // may be longer than the image
  for (size_t k = 0; k < spatial; ++k) {
    kernel.push_back(g.chance(0.1) && spatial < 3 ? g.between(6, 16) : g.between(1, 5));
    weight.push_back(Dim(kernel.back()));
  }
  Attrs attrs = transposed_window(g, x, kernel);
  attrs.set("group", group);
  auto y = g.call(cat("conv", spatial, "d_transpose"),
                  {x, g.weight(TensorType{g.type(x)->dtype, weight}, {-1, 1})}, attrs);
  if (y) follow_window(g, *y);
  return y.has_value();
}

/// Returns an image for windows of up to 13 cells, and fills `kernel` with such a window.
Ref wide_image(Grower& g, size_t spatial, Ints& kernel) {
  Shape shape = {Dim(g.between(1, 2)), Dim(g.one_of<int64_t>({1, 2, 3, 8, 16}))};
  for (size_t k = 0; k < spatial; ++k) {
    shape.push_back(Dim(g.between(5, spatial > 1 ? 20 : 60)));
    kernel.push_back(g.between(3, std::min<int64_t>(13, shape.back().extent())));
  }
  return g.parameter(TensorType{g.main_dtype(), shape}, {.has_specials = true});
}

bool grow_pool(Grower& g, const std::string& op) {
  const size_t spatial = std::min<size_t>(1 + g.pick(10) / 4, 3);
  Ints kernel;
  const bool is_wide = op != "lp_pool" && spatial < 3 && g.chance(0.25);
  Ref x = is_wide ? wide_image(g, spatial, kernel) : image(g, spatial);
  if (!is_wide) kernel = random_kernel(g, x, g.rank(x) - 2);
  Attrs attrs = window(g, x, kernel, true);
  attrs.set("kernel_shape", kernel);
  attrs.set("ceil_mode", g.chance(0.3));
  if (op == "average_pool") attrs.set("count_include_pad", g.chance(0.5));
  if (op == "lp_pool") attrs.set("p", g.between(1, 3));
  if (op == "max_pool" && g.chance(0.25)) {
    attrs.set("with_indices", true);
    attrs.set("storage_order", g.between(0, 1));
  }
  return g.call(op, {x}, attrs).has_value();
}

bool grow_global_pool(Grower& g, const std::string& op) {
  Ref x = image(g, 1 + g.pick(3));
  Attrs attrs;
  if (op == "global_lp_pool") attrs.set("p", g.between(1, 3));
  return g.call(op, {x}, attrs).has_value();
}

bool grow_channel_norm(Grower& g, const std::string& op) {
  Ref x = image(g, 1 + g.pick(3));
  const int64_t c = g.dim(x, 1);
  TypeId channels = TensorType{g.type(x)->dtype, {Dim(c)}};
  if (op == "lrn") {
    return g
        .call(op, {x},
              {{"size", g.between(1, 5)},
               {"alpha", g.real(0.001, 1)},
               {"beta", g.real(0.3, 1)},
               {"bias", g.real(0.5, 2)}})
        .has_value();
  }
  Ref scale = g.weight(channels, {0.5, 2}), bias = g.weight(channels);
  if (op == "batch_norm")
    return g.call(op, {x, scale, bias, g.weight(channels), g.weight(channels, {0.3, 2})})
        .has_value();
  const int64_t pixels = element_count(g.type(x)) / g.dim(x, 0) / c;
  if (pixels <= 2) return false;  // as norms of two elements in grow_algebra.cc
  if (op == "instance_norm") return g.call(op, {x, scale, bias}).has_value();
  int64_t groups = c % 2 == 0 && g.chance(0.5) ? 2 : g.chance(0.5) ? c : 1;
  return g.call(op, {x, scale, bias}, {{"num_groups", groups}}).has_value();
}

bool grow_resize(Grower& g) {
  Ref x = image(g, g.chance(0.8) ? 2 : 1 + g.pick(3));
  Attrs attrs;
  Ints sizes = static_extents(g.shape_of(x));
  Floats scales(g.rank(x), 1.0);
  for (size_t k = 2; k < g.rank(x); ++k) {
    sizes[k] = g.between(1, 10);
    scales[k] = g.one_of<double>({1, 2, 0.5, 2, 3, 0.26, 0.13});
  }
  if (g.chance(0.5)) attrs.set("sizes", sizes);
  else attrs.set("scales", scales);
  attrs.set("mode", g.one_of<std::string>({"nearest", "linear", "cubic"}));
  attrs.set("coordinates",
            g.one_of<std::string>({"half_pixel", "pytorch_half_pixel", "half_pixel_symmetric",
                                   "align_corners", "asymmetric"}));
  if (attrs.s("mode", "") != "nearest") attrs.set("antialias", g.chance(0.3));
  attrs.set("nearest",
            g.one_of<std::string>({"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}));
  if (g.chance(0.2)) attrs.set("exclude_outside", true);
  return g.call("resize", {x}, attrs).has_value();
}

bool grow_grid_sample(Grower& g) {
  Ref x = image(g, 2);
  Ref grid =
      g.weight(TensorType{g.type(x)->dtype,
                          {Dim(g.dim(x, 0)), Dim(g.between(1, 4)), Dim(g.between(1, 4)), Dim(2)}},
               {-1.3, 1.3});
  return g
      .call("grid_sample", {x, grid},
            {{"mode", g.one_of<std::string>({"bilinear", "nearest", "bicubic"})},
             {"padding_mode", g.one_of<std::string>({"zeros", "border", "reflection"})},
             {"align_corners", g.chance(0.5)}})
      .has_value();
}

bool grow_deform(Grower& g) {
  const size_t spatial = 1 + g.pick(2);
  const int64_t offsets = g.between(1, 2), groups = g.between(1, 3), kernel = g.between(1, 2);
  const auto dims = static_cast<int64_t>(spatial);
  int64_t taps = 1;
  // More channels than a vector has lanes are read in vectors.
  const int64_t channels = g.chance(0.3) ? g.between(8, 40) : g.between(1, 2);
  Shape x = {Dim(g.between(1, 2)), Dim(std::lcm(offsets, groups) * channels)};
  Shape cells = {x[0], Dim(0)};
  for (size_t d = 0; d < spatial; ++d) {
    taps *= kernel;
    x.push_back(Dim(kernel + g.between(0, 4)));
    cells.push_back(Dim(x.back().extent() - kernel + 1));
  }
  const DType dtype = g.main_dtype();
  cells[1] = Dim(offsets * taps * dims);
  std::vector<Ref> in = {g.parameter(TensorType{dtype, x}),
                         g.parameter(TensorType{dtype, cells}, {-1.3, 1.3})};
  cells[1] = Dim(offsets * taps);
  if (g.chance(0.5)) in.push_back(g.parameter(TensorType{dtype, cells}));
  return g
      .call("deform_rows", in,
            {{"kernel_shape", Ints(spatial, kernel)}, {"offset_group", offsets}, {"group", groups}})
      .has_value();
}

bool grow_col2im(Grower& g) {
  const size_t spatial = 1 + g.pick(2);
  Ints image, block, strides, dilations, pads(2 * spatial, 0);
  int64_t taps = 1, blocks = 1;
  for (size_t d = 0; d < spatial; ++d) {
    block.push_back(g.between(1, 4));
    strides.push_back(g.chance(0.3) ? block.back() : g.between(1, 4));
    dilations.push_back(g.chance(0.3) ? g.between(2, 4) : 1);
    for (size_t side : {d, d + spatial}) pads[side] = g.chance(0.3) ? g.between(1, 2) : 0;
    const int64_t reach = (block.back() - 1) * dilations.back() + 1;
    image.push_back(reach + g.between(0, 9));
    taps *= block.back();
    blocks *= (image.back() + pads[d] + pads[d + spatial] - reach) / strides.back() + 1;
  }
  Ref x = g.parameter(
      TensorType{g.main_dtype(), {Dim(g.between(1, 2)), Dim(taps * g.between(1, 3)), Dim(blocks)}});
  return g
      .call("col2im", {x},
            {{"image_shape", image},
             {"block_shape", block},
             {"strides", strides},
             {"dilations", dilations},
             {"pads", pads}})
      .has_value();
}

bool grow_roi_align(Grower& g) {
  Ref x = image(g, 2);
  int64_t r = g.between(1, 3);
  std::vector<double> boxes, batch;
  for (int64_t k = 0; k < r; ++k) {
    batch.push_back(static_cast<double>(g.between(0, g.dim(x, 0) - 1)));
    // Some boxes are outside of the image in part, empty or large; some end on cells.
    double left = g.real(-2, 3), top = g.real(-2, 3);
    boxes.insert(boxes.end(), {left, top, left + g.real(-0.5, 4), top + g.real(1, 12)});
    if (!g.chance(0.3)) continue;
    for (size_t edge = boxes.size() - 4; edge < boxes.size(); ++edge)
      boxes[edge] = std::round(boxes[edge]);
  }
  Ref rois = g.constant_ints(g.type(x)->dtype, {r, 4}, boxes);
  Ref images = g.constant_ints(DType::kI64, {r}, batch);
  return g
      .call("roi_align", {x, rois, images},
            {{"output_height", g.between(1, 3)},
             {"output_width", g.between(1, 3)},
             {"sampling_ratio", g.between(0, 2)},
             {"spatial_scale", g.real(0.5, 1.2)},
             {"mode", g.one_of<std::string>({"average", "max"})},
             {"half_pixel", g.chance(0.5)}})
      .has_value();
}

/// Grows the blocked forms, which the pass assign_layouts writes.
bool grow_blocked_conv(Grower& g) {
  const int64_t b = g.one_of<int64_t>({4, 8}), c = b * g.between(1, 2), o = b * g.between(1, 2),
                k = g.between(1, 3);
  const bool plain = g.chance(0.5);
  Shape image = plain
                    ? Shape{Dim(1), Dim(3), Dim(g.between(3, 7)), Dim(g.between(3, 7))}
                    : Shape{Dim(1), Dim(c / b), Dim(g.between(3, 7)), Dim(g.between(3, 7)), Dim(b)};
  Shape weight = plain ? Shape{Dim(o / b), Dim(1), Dim(k), Dim(k), Dim(3), Dim(b)}
                       : Shape{Dim(o / b), Dim(c / b), Dim(k), Dim(k), Dim(b), Dim(b)};
  Ref x = g.parameter(TensorType{g.main_dtype(), image}),
      w = g.weight(TensorType{g.main_dtype(), weight}, {-1, 1});
  return g
      .call("conv2d_nchwc", {x, w},
            {{"strides", Ints{g.between(1, 2), 1}}, {"pads", Ints{k / 2, 0, k / 2, 1}}})
      .has_value();
}

}  // namespace

std::vector<Family> window_families() {
  std::vector<Family> out;
  for (size_t spatial : {2, 1, 3}) {
    double weight = spatial == 2 ? 3 : 2.5;
    std::string conv = cat("conv", spatial, "d"), transpose = conv + "_transpose";
    out.push_back({conv, weight, [=](Grower& g) { return grow_conv(g, spatial); }, {conv}});
    out.push_back(
        {transpose, 3, [=](Grower& g) { return grow_conv_transpose(g, spatial); }, {transpose}});
  }
  for (const char* op : {"max_pool", "average_pool", "lp_pool"})
    out.push_back({op, 1.5, [op](Grower& g) { return grow_pool(g, op); }, {op}});
  for (const char* op : {"global_average_pool", "global_max_pool", "global_lp_pool"})
    out.push_back({op, 1.4, [op](Grower& g) { return grow_global_pool(g, op); }, {op}});
  for (const char* op : {"batch_norm", "instance_norm", "group_norm", "lrn"})
    out.push_back({op, 1.4, [op](Grower& g) { return grow_channel_norm(g, op); }, {op}});
  out.push_back({"resize", 1.3, grow_resize, {"resize"}});
  out.push_back({"grid_sample", 1.6, grow_grid_sample, {"grid_sample"}});
  out.push_back({"deform_rows", 1.4, grow_deform, {"deform_rows"}});
  out.push_back({"col2im", 1.4, grow_col2im, {"col2im"}});
  out.push_back({"roi_align", 2.5, grow_roi_align, {"roi_align"}});
  out.push_back({"conv2d_nchwc", 1.8, grow_blocked_conv, {"conv2d_nchwc"}});
  return out;
}

}  // namespace byoc::fuzz
