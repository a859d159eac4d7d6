// SPDX-License-Identifier: Apache-2.0
// Products of integers of 8 bits with constant weights: "pointwise" for convolutions with one tap
// and without padding, "f32_sums" for those of every channel with itself, "dots" for the others,
// "packed" for products of a panel's columns. Tiles are those of f32. pairs.h has products of two
// matrices of the run.
// Sums are of s products of adjacent elements, four of bytes or two of i16:
//   lanes[o, c, kh, kw, q, lane, t] = weight[o * b + lane, c * i + s * q + t, kh, kw]
//   y[n, o, h, w, lane] over c, kh, kw, q of the sum over t < s of
//     x[n, c, h + kh, w + kw, s * q + t] * lanes[o, c, kh, kw, q, lane, t]
// for blocks of b channels of y and of i channels of x. Weights of channels that there are not
// are 0.
// For pairs of i16, x is widened once, by a stage that all channels of y read.
#include <algorithm>
#include <functional>

#include "byoc/base/check.h"
#include "plugins/llvm/families/calls.h"
#include "plugins/llvm/families/integers/depthwise.h"
#include "plugins/llvm/families/integers/pairs.h"
#include "plugins/llvm/families/integers/tiles.h"

namespace byoc::llvm_plugin::integers {
namespace {

using te::Expr;
using te::Exprs;
using te::Tensor;

constexpr int64_t kQuad = 4;  // bytes of a lane

/// The elements that a lane holds.
struct Lane {
  int64_t size = kQuad;
  DType x = DType::kU8, weight = DType::kI8;
  bool saturates = false;  // sums of two products, to i16
  bool is_wide() const { return x != DType::kU8; }
};

// Returns pairs of i16 where the processor multiplies these alone: bytes would be unpacked in the
// innermost loop. It also multiplies bytes, but saturates the sums of two products, which none of
// small weights reaches: 2 * 255 * 64 < 2^15.
Lane lane_of(const te::Site& site) {
  constexpr int64_t kSmallWeight = 64;
  const te::Target& target = *site.target;
  const bool has_quads = target.has("avx512vnni") || target.has("avxvnni");
  if (has_quads || target.arch != "x86_64") return {};
  if (target.has("avx2") && site.attrs->i("most_weight", 128) <= kSmallWeight)
    return {.saturates = true};
  return {.size = 2, .x = DType::kI16, .weight = DType::kI16};
}

int64_t extent(const Tensor& tensor, size_t dim) {
  BYOC_CHECK(dim < tensor.rank(), "dim ", dim, " of ", tensor.name(), " of rank ", tensor.rank());
  const std::optional<int64_t> out = te::as_int(tensor.shape()[dim]);
  BYOC_CHECK(out, "dim ", dim, " of ", tensor.name(), " is no number");
  return *out;
}

Ints list(const Attrs& attrs, const char* name, const Ints& fallback) {
  Ints out = attrs.ints(name);
  return out.empty() ? fallback : out;
}

Expr saturated_to_i16(const Expr& x) {
  return te::min(te::max(x, te::int_constant(DType::kI32, INT16_MIN)),
                 te::int_constant(DType::kI32, INT16_MAX));
}

// Adds the products of the elements of a lane of `x` and of `w` from these indices on.
Expr dot(const Lane& by, const Tensor& x, Exprs at_x, const Tensor& w, Exprs at_w) {
  const Expr first = at_x.back();
  auto product = [&](int64_t t) {
    at_x.back() = first + t;
    at_w.back() = t;
    return te::cast(DType::kI32, x(at_x)) * te::cast(DType::kI32, w(at_w));
  };
  Expr out;
  for (int64_t t = 0; t < by.size; t += by.saturates ? 2 : 1) {
    const Expr term = by.saturates ? saturated_to_i16(product(t) + product(t + 1)) : product(t);
    out = out.is_empty() ? term : out + term;
  }
  return out;
}

// Adds the stage of the weights of a convolution, [o, c, kh, kw, i / s, b, s].
Tensor conv_weights(te::Builder& builder, const Lane& by, const Tensor& x, const Tensor& weight,
                    int64_t block) {
  const int64_t inner = extent(x, 4), c = extent(weight, 1);
  BYOC_CHECK(inner % by.size == 0 && extent(weight, 0) % block == 0, "blocks of ", inner, " and ",
             block, " channels, lanes of ", by.size);
  const Exprs shape = {extent(weight, 0) / block,
                       (c + inner - 1) / inner,
                       extent(weight, 2),
                       extent(weight, 3),
                       inner / by.size,
                       block,
                       by.size};
  return builder.compute("lanes", shape, [&](const Exprs& i) {
    const Expr channel = i[1] * inner + i[4] * by.size + i[6];
    const Expr value = te::cast(by.weight, weight(i[0] * block + i[5], channel, i[2], i[3]));
    return c % inner == 0 ? value
                          : te::select(channel < Expr(c), value, te::int_constant(by.weight, 0));
  });
}

// Adds the image with cells of `fill` around it; the image itself without pads.
Tensor padded(te::Builder& builder, const Lane& by, const Tensor& x, const Ints& pads,
              int64_t fill) {
  BYOC_CHECK(pads.size() == 4, "an image has pads at 4 edges, got ", pads.size());
  if (std::ranges::all_of(pads, [](int64_t pad) { return pad == 0; })) {
    if (!by.is_wide()) return x;
    return builder.compute("wide", x.shape(), [&](const Exprs& i) { return te::cast(by.x, x(i)); });
  }
  const int64_t h = extent(x, 2), w = extent(x, 3);
  Exprs shape = x.shape();
  shape[2] = h + pads[0] + pads[2], shape[3] = w + pads[1] + pads[3];
  return builder.compute("pad", shape, [&](const Exprs& i) {
    const Expr row = i[2] - pads[0], column = i[3] - pads[1];
    const Expr is_inside = Expr(0) <= row && row < Expr(h) && Expr(0) <= column && column < Expr(w);
    return te::select(is_inside, te::cast(by.x, x(i[0], i[1], row, column, i[4])),
                      te::int_constant(by.x, fill));
  });
}

Result<std::vector<Tensor>> compute_conv(const Lane& by, te::Builder& builder,
                                         std::span<const Tensor> in, Types out,
                                         const Attrs& attrs) {
  const Ints strides = list(attrs, "strides", {1, 1}), dilations = list(attrs, "dilations", {1, 1});
  BYOC_CHECK(strides.size() == 2 && dilations.size() == 2, "a window of two dims");
  const Tensor weights = conv_weights(builder, by, in[0], in[1], attrs.i("block"));
  const Tensor x =
      padded(builder, by, in[0], list(attrs, "pads", {0, 0, 0, 0}), attrs.i("pad_value", 0));
  auto term = [&](const Exprs& i, const Exprs& r) {
    const Expr h = i[2] * strides[0] + r[1] * dilations[0];
    const Expr w = i[3] * strides[1] + r[2] * dilations[1];
    return dot(by, x, {i[0], r[0], h, w, r[3] * by.size}, weights,
               {i[1], r[0], r[1], r[2], r[3], i[4], Expr(0)});
  };
  return std::vector<Tensor>{builder.reduce(
      "conv2d_nchwc_integers", te::extents_of(*out[0]),
      {extent(weights, 1), extent(weights, 2), extent(weights, 3), extent(weights, 4)},
      te::sum_of(DType::kI32), term)};
}

// Computes sums over pixels p = h * width + w, so that tiles need not end where rows do. With
// strides, the pixels that are read are a stage of their own, which schedules store contiguously.
Result<std::vector<Tensor>> compute_pointwise(const Lane& by, te::Builder& builder,
                                              std::span<const Tensor> in, Types out,
                                              const Attrs& attrs) {
  const Tensor x = in[0], weights = conv_weights(builder, by, in[0], in[1], attrs.i("block"));
  const Ints y = static_extents(out[0]->shape), strides = list(attrs, "strides", {1, 1});
  BYOC_CHECK(y.size() == 5 && strides.size() == 2, "an image in blocks of rank ", y.size());
  const int64_t width = y[3], pixels = y[2] * y[3];
  Tensor cells;
  if (by.is_wide() || strides != Ints{1, 1}) {
    const Exprs shape = {y[0], extent(weights, 1), pixels, extent(x, 4)};
    cells = builder.compute("conv2d_nchwc.cells", shape, [&](const Exprs& i) {
      return te::cast(by.x, x(i[0], i[1], floor_div(i[2], width) * strides[0],
                              floor_mod(i[2], width) * strides[1], i[3]));
    });
  }
  auto term = [&](const Exprs& i, const Exprs& r) {
    const Exprs at_w = {i[1], r[0], Expr(0), Expr(0), r[1], i[3], Expr(0)};
    const Expr q = r[1] * by.size;
    if (!cells.is_empty()) return dot(by, cells, {i[0], r[0], i[2], q}, weights, at_w);
    return dot(by, x, {i[0], r[0], floor_div(i[2], width), floor_mod(i[2], width), q}, weights,
               at_w);
  };
  Tensor sums =
      builder.reduce("conv2d_nchwc.sums", {y[0], y[1], pixels, y[4]},
                     {extent(weights, 1), extent(weights, 4)}, te::sum_of(DType::kI32), term);
  return std::vector<Tensor>{
      builder.compute("conv2d_nchwc_integers", {y[0], y[1], y[2], y[3], y[4]},
                      [&](const Exprs& i) { return sums(i[0], i[1], i[2] * width + i[3], i[4]); })};
}

// Adds the rows of a product with `k` columns, a multiple of a lane's elements: with zeros at their
// ends where there are more than `terms`.
Tensor product_rows(te::Builder& builder, const Lane& by, const Tensor& a, int64_t terms,
                    int64_t k) {
  if (k == terms && !by.is_wide()) return a;
  Exprs whole = a.shape();
  whole.back() = k;
  return builder.compute("rows", whole, [&](const Exprs& i) {
    const Expr value = te::cast(by.x, a(i));
    return k == terms ? value
                      : te::select(i.back() < Expr(terms), value, te::int_constant(by.x, 0));
  });
}

// Computes y[.., m, n] over q of the sum over t < s of a[.., m, s * q + t] * panels[n / block, q,
// n % block, t]. Rows that no lanes fill end with zeros.
te::Strategy packed_product(const Lane& by, int64_t block) {
  te::Strategy out{.name = "packed", .level = kPreferred};
  out.compute =
      with_open_sizes([by, block](te::Builder& builder, std::span<const Tensor> in, Types types,
                                  const Attrs&) -> Result<std::vector<Tensor>> {
        const Tensor b = in[1];
        const int64_t k = extent(b, 0), n = extent(b, 1), parts = (k + by.size - 1) / by.size;
        const Exprs shape = {(n + block - 1) / block, parts, block, by.size};
        const Tensor panels = builder.compute("panels", shape, [&](const Exprs& i) {
          const Expr column = i[0] * block + i[2], row = i[1] * by.size + i[3];
          return te::select(row < Expr(k) && column < Expr(n), te::cast(by.weight, b(row, column)),
                            te::int_constant(by.weight, 0));
        });
        const Tensor a = product_rows(builder, by, in[0], k, parts * by.size);
        return std::vector<Tensor>{builder.reduce(
            "product", te::extents_of(*types[0]), {parts}, te::sum_of(DType::kI32),
            [&](const Exprs& i, const Exprs& r) {
              Exprs at = i;
              at.back() = r[0] * by.size;
              return dot(by, a, at, panels,
                         {floor_div(i.back(), block), r[0], floor_mod(i.back(), block), Expr(0)});
            })};
      });
  return out;
}

// Returns true for products of static shapes with a panel of columns or more.
bool has_panels(const te::Site& site, int64_t block) {
  const Shape &a = site.inputs[0]->shape, &b = site.inputs[1]->shape;
  BYOC_CHECK(b.size() == 2, "weights of a product of rank ", b.size());
  return is_static(a) && is_static(b) && b[1].extent() >= block && b[0].extent() > 0;
}

// Returns true for a vector by a matrix: each weight is read once, so more bytes cost more time.
bool has_one_row(const te::Site& site) {
  const Ints a = static_extents(site.inputs[0]->shape);
  BYOC_CHECK(!a.empty(), "rows of a product have terms");
  return std::all_of(a.begin(), a.end() - 1, [](int64_t extent) { return extent == 1; });
}

bool is_pointwise(const te::Site& site) {
  const Ints weight = static_extents(site.inputs[1]->shape);
  const Ints pads = site.attrs->ints("pads");
  return weight[2] == 1 && weight[3] == 1 &&
         std::ranges::all_of(pads, [](int64_t pad) { return pad == 0; });
}

// Returns true for blocks that lanes divide, read by one group.
bool has_quads(const te::Site& site) {
  const Shape &x = site.inputs[0]->shape, &weight = site.inputs[1]->shape;
  return is_static(x) && is_static(weight) && x.back().extent() % kQuad == 0 &&
         x.back().extent() > 0 && site.attrs->i("group", 1) == 1;
}

// Returns true for u8 by constant i8 without zero points, the form that lanes of bytes multiply.
bool has_bytes_and_weights(const te::Site& site) {
  return has_constant_weight(site) && site.inputs[0]->dtype == DType::kU8 &&
         site.inputs[1]->dtype == DType::kI8 && site.attrs->i("a_zero", 0) == 0 &&
         site.attrs->i("b_zero", 0) == 0 &&
         (site.op->name != "matmul_integers" || site.inputs[1]->shape.size() == 2);
}

void add_computes(const FamilyCall& call, Strategies& out) {
  const te::Site& site = call.site;
  if (site.inputs.size() < 2) return;
  const Lane by = lane_of(site);
  const int64_t block = std::max<int64_t>(2 * site.target->lanes(sizeof(int32_t)), 8);
  if (!has_bytes_and_weights(site)) {
    if (site.op->name != "matmul_integers" || call.is_open) return;
    if (std::optional<te::Strategy> pairs = product_of_pairs(site, block))
      out.push_back(*std::move(pairs));
    return;
  }
  if (std::optional<ComputeFn> sums = depthwise_compute_of(site))
    out.push_back({.name = "f32_sums", .level = kPreferred, .compute = *std::move(sums)});
  if (site.op->name == "conv2d_nchwc_integers" && has_quads(site)) {
    const bool is_flat = is_pointwise(site);
    te::Strategy sums{.name = is_flat ? "pointwise" : "dots", .level = kPreferred};
    sums.compute = std::bind_front(is_flat ? compute_pointwise : compute_conv, by);
    out.push_back(std::move(sums));
  }
  if (site.op->name != "matmul_integers") return;
  const bool has_tiles = pays_tiles(site);
  if (has_panels(site, block)) {
    out.push_back(packed_product(has_one_row(site) && by.is_wide() ? Lane() : by, block));
    if (has_tiles) out.back().level = kPossible;
  }
  if (has_tiles) out.push_back(product_of_tiles());
}

bool owns(std::string_view compute) { return compute == kTilesCompute; }

}  // namespace

extern const Family kFamily{
    .name = "integers", .add_computes = add_computes, .owns = owns, .schedules = tiles_schedules};

}  // namespace byoc::llvm_plugin::integers
