// SPDX-License-Identifier: Apache-2.0
// Sums of four products of adjacent bytes:
//   quads[o, c, kh, kw, q, lane, t] = weight[o * b + lane, c * i + 4 * q + t, kh, kw]
//   y[n, o, h, w, lane] over c, kh, kw, q of the sum over t < 4 of
//     x[n, c, h + kh, w + kw, 4 * q + t] * quads[o, c, kh, kw, q, lane, t]
// for blocks of b channels of y and of i channels of x. Weights of channels that there are not are 0.
#include "plugins/llvm/integers/compute.h"

#include <algorithm>

#include "plugins/llvm/integers/depthwise.h"

namespace byoc::llvm_plugin::integers {
namespace {

using te::Expr;
using te::Exprs;
using te::Tensor;

constexpr int kPreferred = 20;  // above OpDef::compute
constexpr int64_t kQuad = 4;    // bytes of a lane

int64_t extent(const Tensor& tensor, size_t dim) { return *te::as_int(tensor.shape()[dim]); }

Ints list(const Attrs& attrs, const char* name, const Ints& fallback) {
  Ints out = attrs.ints(name);
  return out.empty() ? fallback : out;
}

// Adds the products of the four bytes of `x` and of `w` from these indices on.
Expr dot(const Tensor& x, Exprs at_x, const Tensor& w, Exprs at_w) {
  Expr out;
  const Expr first = at_x.back();
  for (int64_t t = 0; t < kQuad; ++t) {
    at_x.back() = first + t;
    at_w.back() = t;
    Expr product = te::cast(DType::kI32, x(at_x)) * te::cast(DType::kI32, w(at_w));
    out = out.is_empty() ? product : out + product;
  }
  return out;
}

// Adds the stage of the weights of a convolution, [o, c, kh, kw, i / 4, b, 4].
Tensor conv_quads(te::Builder& builder, const Tensor& x, const Tensor& weight, int64_t block) {
  const int64_t inner = extent(x, 4), c = extent(weight, 1);
  const Exprs shape = {extent(weight, 0) / block,
                       (c + inner - 1) / inner,
                       extent(weight, 2),
                       extent(weight, 3),
                       inner / kQuad,
                       block,
                       kQuad};
  return builder.compute("quads", shape, [&](const Exprs& i) {
    const Expr channel = i[1] * inner + i[4] * kQuad + i[6];
    const Expr value = weight(i[0] * block + i[5], channel, i[2], i[3]);
    return c % inner == 0 ? value
                          : te::select(channel < Expr(c), value, te::int_constant(DType::kI8, 0));
  });
}

// Adds the image with cells of `fill` around it; the image itself without pads.
Tensor padded(te::Builder& builder, const Tensor& x, const Ints& pads, int64_t fill) {
  if (std::ranges::all_of(pads, [](int64_t pad) { return pad == 0; })) return x;
  const int64_t h = extent(x, 2), w = extent(x, 3);
  Exprs shape = x.shape();
  shape[2] = h + pads[0] + pads[2], shape[3] = w + pads[1] + pads[3];
  return builder.compute("pad", shape, [&](const Exprs& i) {
    const Expr row = i[2] - pads[0], column = i[3] - pads[1];
    const Expr is_inside = Expr(0) <= row && row < Expr(h) && Expr(0) <= column && column < Expr(w);
    return te::select(is_inside, x(i[0], i[1], row, column, i[4]),
                      te::int_constant(DType::kU8, fill));
  });
}

Result<std::vector<Tensor>> compute_conv(te::Builder& builder, std::span<const Tensor> in,
                                         Types out, const Attrs& attrs) {
  const Ints strides = list(attrs, "strides", {1, 1}), dilations = list(attrs, "dilations", {1, 1});
  const Tensor quads = conv_quads(builder, in[0], in[1], attrs.i("block"));
  const Tensor x =
      padded(builder, in[0], list(attrs, "pads", {0, 0, 0, 0}), attrs.i("pad_value", 0));
  auto term = [&](const Exprs& i, const Exprs& r) {
    const Expr h = i[2] * strides[0] + r[1] * dilations[0];
    const Expr w = i[3] * strides[1] + r[2] * dilations[1];
    return dot(x, {i[0], r[0], h, w, r[3] * kQuad}, quads,
               {i[1], r[0], r[1], r[2], r[3], i[4], Expr(0)});
  };
  return std::vector<Tensor>{
      builder.reduce("conv2d_nchwc_integers", te::extents_of(*out[0]),
                     {extent(quads, 1), extent(quads, 2), extent(quads, 3), extent(quads, 4)},
                     te::sum_of(DType::kI32), term)};
}

// Computes sums over pixels p = h * width + w, so that tiles need not end where rows do. With
// strides, the pixels that are read are a stage of their own, which schedules store contiguously.
Result<std::vector<Tensor>> compute_pointwise(te::Builder& builder, std::span<const Tensor> in,
                                              Types out, const Attrs& attrs) {
  const Tensor x = in[0], quads = conv_quads(builder, in[0], in[1], attrs.i("block"));
  const Ints y = static_extents(out[0]->shape), strides = list(attrs, "strides", {1, 1});
  const int64_t width = y[3], pixels = y[2] * y[3];
  Tensor cells;
  if (strides != Ints{1, 1}) {
    const Exprs shape = {y[0], extent(quads, 1), pixels, extent(x, 4)};
    cells = builder.compute("conv2d_nchwc.cells", shape, [&](const Exprs& i) {
      return x(i[0], i[1], floor_div(i[2], width) * strides[0], floor_mod(i[2], width) * strides[1],
               i[3]);
    });
  }
  auto term = [&](const Exprs& i, const Exprs& r) {
    const Exprs at_w = {i[1], r[0], Expr(0), Expr(0), r[1], i[3], Expr(0)};
    if (!cells.is_empty()) return dot(cells, {i[0], r[0], i[2], r[1] * kQuad}, quads, at_w);
    return dot(x, {i[0], r[0], floor_div(i[2], width), floor_mod(i[2], width), r[1] * kQuad}, quads,
               at_w);
  };
  Tensor sums = builder.reduce("conv2d_nchwc.sums", {y[0], y[1], pixels, y[4]},
                               {extent(quads, 1), extent(quads, 4)}, te::sum_of(DType::kI32), term);
  return std::vector<Tensor>{
      builder.compute("conv2d_nchwc_integers", {y[0], y[1], y[2], y[3], y[4]},
                      [&](const Exprs& i) { return sums(i[0], i[1], i[2] * width + i[3], i[4]); })};
}

// Computes y[.., m, n] over q of the sum over t < 4 of a[.., m, 4 * q + t] * panels[n / block, q,
// n % block, t]. Rows that no quads fill end with zeros.
te::Strategy packed_product(int64_t block) {
  te::Strategy out{.name = "packed", .level = kPreferred};
  out.compute = [block](te::Builder& builder, std::span<const Tensor> in, Types types,
                        const Attrs&) -> Result<std::vector<Tensor>> {
    const Tensor b = in[1];
    const int64_t k = extent(b, 0), n = extent(b, 1), quads = (k + kQuad - 1) / kQuad;
    const Exprs shape = {(n + block - 1) / block, quads, block, kQuad};
    const Tensor panels = builder.compute("panels", shape, [&](const Exprs& i) {
      const Expr column = i[0] * block + i[2], row = i[1] * kQuad + i[3];
      return te::select(row < Expr(k) && column < Expr(n), b(row, column),
                        te::int_constant(DType::kI8, 0));
    });
    Tensor a = in[0];
    if (k % kQuad != 0) {
      Exprs whole = a.shape();
      whole.back() = quads * kQuad;
      a = builder.compute("rows", whole, [&](const Exprs& i) {
        return te::select(i.back() < Expr(k), in[0](i), te::int_constant(DType::kU8, 0));
      });
    }
    return std::vector<Tensor>{builder.reduce(
        "product", te::extents_of(*types[0]), {quads}, te::sum_of(DType::kI32),
        [&](const Exprs& i, const Exprs& r) {
          Exprs at = i;
          at.back() = r[0] * kQuad;
          return dot(a, at, panels,
                     {floor_div(i.back(), block), r[0], floor_mod(i.back(), block), Expr(0)});
        })};
  };
  return out;
}

// Returns true for products of static shapes with a panel of columns or more.
bool has_panels(const te::Site& site, int64_t block) {
  const Shape &a = site.inputs[0]->shape, &b = site.inputs[1]->shape;
  return is_static(a) && is_static(b) && b[1].extent() >= block && b[0].extent() > 0;
}

bool is_pointwise(const te::Site& site) {
  const Ints weight = static_extents(site.inputs[1]->shape);
  const Ints pads = site.attrs->ints("pads");
  return weight[2] == 1 && weight[3] == 1 &&
         std::ranges::all_of(pads, [](int64_t pad) { return pad == 0; });
}

// Returns true for blocks that are read in quads, by one group.
bool has_quads(const te::Site& site) {
  const Shape &x = site.inputs[0]->shape, &weight = site.inputs[1]->shape;
  return is_static(x) && is_static(weight) && x.back().extent() % kQuad == 0 &&
         x.back().extent() > 0 && site.attrs->i("group", 1) == 1;
}

}  // namespace

void add_strategies(const te::Site& site, bool has_constant_weight,
                    std::vector<te::Strategy>& out) {
  if (!has_constant_weight) return;
  if (std::optional<ComputeFn> sums = depthwise_compute_of(site))
    out.push_back({.name = "f32_sums", .level = kPreferred, .compute = *std::move(sums)});
  if (site.op->name == "conv2d_nchwc_integers" && has_quads(site)) {
    if (is_pointwise(site))
      out.push_back({.name = "pointwise", .level = kPreferred, .compute = compute_pointwise});
    else out.push_back({.name = "dots", .level = kPreferred, .compute = compute_conv});
  }
  const int64_t block = std::max<int64_t>(2 * site.target->lanes(sizeof(int32_t)), 8);
  if (site.op->name == "matmul_integers" && has_panels(site, block))
    out.push_back(packed_product(block));
}

}  // namespace byoc::llvm_plugin::integers
