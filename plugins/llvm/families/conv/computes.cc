// SPDX-License-Identifier: Apache-2.0
// Convolutions of f32 in tiles of registers: of one pixel each as products of matrices, with blocks
// of half a vector joined, and the direct sums.
#include "plugins/llvm/families/conv/computes.h"

#include <algorithm>

#include "byoc/te/simplify.h"
#include "plugins/llvm/families/conv/flat.h"
#include "plugins/llvm/tiling/tile.h"

namespace byoc::llvm_plugin::conv {
namespace {

using te::Expr;
using te::Exprs;
using te::Tensor;

int64_t extent(const Tensor& tensor, size_t dim) { return *te::as_int(tensor.shape()[dim]); }

// Returns true for weight [o / b, c / i, 1, 1, i, b] and x [n, c / i, h, w, i] without padding.
bool is_pointwise(const te::Site& site) {
  if (site.op->name != "conv2d_nchwc" || site.inputs[0]->dtype != DType::kF32) return false;
  const Shape &x = site.inputs[0]->shape, &weight = site.inputs[1]->shape;
  if (x.size() != 5 || !is_static(x) || !is_static(weight)) return false;
  const Ints from = static_extents(x), taps = static_extents(weight);
  const Ints pads = site.attrs->ints("pads");
  return taps[2] == 1 && taps[3] == 1 && taps[4] == from[4] && site.attrs->i("group", 1) == 1 &&
         std::all_of(pads.begin(), pads.end(), [](int64_t pad) { return pad == 0; });
}

// Returns the weight of [o / b, .., b] as [o / (b * count), .., b * count]: blocks of o joined to
// whole vectors, the last one filled up with zeros.
Tensor joined_blocks(te::Builder& builder, const Tensor& weight, int64_t count) {
  const int64_t blocks = extent(weight, 0), block = extent(weight, 5);
  Exprs shape = weight.shape();
  shape.front() = (blocks + count - 1) / count, shape.back() = block * count;
  return builder.compute("conv2d_nchwc.panels", shape, [&](const Exprs& i) {
    Exprs at = i;
    at.front() = i.front() * count + floor_div(i.back(), block);
    at.back() = floor_mod(i.back(), block);
    Expr value = weight(at);
    return blocks % count == 0
               ? value
               : te::select(at.front() < blocks, value, te::constant(DType::kF32, 0));
  });
}

// Computes sums[n, o, p, b] over pixels p = h * width + w, so that tiles need not
// end where rows do:
//   y[n, o, h, w, b] = sums[n, o, h * width + w, b]
// With strides, the pixels that are read are a stage of their own, which schedules
// store contiguously. Sums may have the lanes of several blocks of y, `count` of them:
//   y[n, o, h, w, b] = sums[n, o / count, h * width + w, o % count * lanes + b]
Result<std::vector<Tensor>> compute_pointwise(te::Builder& builder, std::span<const Tensor> in,
                                              Types out, const Attrs& attrs, int64_t count) {
  const Tensor x = in[0], weight = in[1];
  const Exprs y = te::extents_of(*out[0]);
  const int64_t blocks = *te::as_int(y[1]), lanes = *te::as_int(y[4]);
  Ints strides = attrs.ints("strides");
  if (strides.empty()) strides = {1, 1};
  const Expr width = y[3], pixels = te::simplify(y[2] * y[3]);
  auto pixel = [&](const Expr& n, const Expr& c, const Expr& p, const Expr& lane) {
    return x(n, c, floor_div(p, width) * strides[0], floor_mod(p, width) * strides[1], lane);
  };
  Tensor cells, panels;
  if (count > 1) panels = joined_blocks(builder, weight, count);
  if (strides != Ints{1, 1}) {
    const Exprs shape = {y[0], extent(x, 1), pixels, extent(x, 4)};
    cells = builder.compute("conv2d_nchwc.cells", shape,
                            [&](const Exprs& i) { return pixel(i[0], i[1], i[2], i[3]); });
  }
  Tensor sums = builder.reduce(
      "conv2d_nchwc.sums", {y[0], (blocks + count - 1) / count, pixels, lanes * count},
      {extent(x, 1), extent(x, 4)}, te::sum_of(DType::kF32), [&](const Exprs& i, const Exprs& r) {
        Expr value =
            cells.is_empty() ? pixel(i[0], r[0], i[2], r[1]) : cells(i[0], r[0], i[2], r[1]);
        return value * (panels.is_empty() ? weight(i[1], r[0], 0, 0, r[1], i[3])
                                          : panels(i[1], r[0], 0, 0, r[1], i[3]));
      });
  return std::vector<Tensor>{builder.compute("conv2d_nchwc", y, [&](const Exprs& i) {
    const Expr p = i[2] * width + i[3];
    if (count == 1) return sums(i[0], i[1], p, i[4]);
    return sums(i[0], floor_div(i[1], count), p, floor_mod(i[1], count) * lanes + i[4]);
  })};
}

bool has_one_tap(const te::Site& site) {
  if (site.op->name != "conv2d" || site.inputs[0]->dtype != DType::kF32) return false;
  if (!is_static(site.inputs[0]->shape) || !is_static(site.inputs[1]->shape)) return false;
  const Ints taps = static_extents(site.inputs[1]->shape);
  auto all = [&](const char* name, int64_t value) {
    return std::ranges::all_of(site.attrs->ints(name), [&](int64_t x) { return x == value; });
  };
  return taps[2] == 1 && taps[3] == 1 && site.attrs->i("group", 1) == 1 && all("pads", 0) &&
         all("strides", 1);
}

// Computes the same of a plain image, a product of matrices with the pixels as columns:
//   y[n, o, h, w] = sums[n, o, h * width + w], sums[n, o, p] over c
Result<std::vector<Tensor>> compute_plain_pointwise(te::Builder& builder,
                                                    std::span<const Tensor> in, Types out,
                                                    const Attrs&) {
  const Tensor x = in[0], weight = in[1];
  const Exprs y = te::extents_of(*out[0]);
  const Expr width = y[3];
  Tensor sums =
      builder.reduce("conv2d.sums", {y[0], y[1], te::simplify(y[2] * width)}, {extent(x, 1)},
                     te::sum_of(DType::kF32), [&](const Exprs& i, const Exprs& r) {
                       return x(i[0], r[0], floor_div(i[2], width), floor_mod(i[2], width)) *
                              weight(i[1], r[0], 0, 0);
                     });
  return std::vector<Tensor>{builder.compute(
      "conv2d", y, [&](const Exprs& i) { return sums(i[0], i[1], i[2] * width + i[3]); })};
}

// Appends "pointwise", and where blocks of constant weights are half vectors, a compute that joins
// two of them.
void add_pointwise(const te::Site& site, Strategies& out) {
  auto joining = [](int64_t count) -> ComputeFn {
    return with_open_sizes(
        [count](te::Builder& builder, std::span<const Tensor> in, Types types, const Attrs& attrs) {
          return compute_pointwise(builder, in, types, attrs, count);
        });
  };
  const bool has_halves = has_half_blocks(site);
  out.push_back(
      {.name = "pointwise", .level = has_halves ? kPossible : kPreferred, .compute = joining(1)});
  if (has_halves)
    out.push_back({.name = topi::kJoinedCompute, .level = kPreferred, .compute = joining(2)});
}

}  // namespace

void add_joined(const te::Site& site, Strategies& out) {
  te::Strategy joined{.name = topi::kJoinedWindows, .level = kPreferred};
  joined.compute = [direct = site.op->compute](te::Builder& builder, std::span<const Tensor> in,
                                               Types types,
                                               const Attrs& attrs) -> Result<std::vector<Tensor>> {
    const int64_t count = 2;
    const Shape& y = types[0]->shape;
    const int64_t blocks = y[1].extent(), lanes = y[4].extent();
    const TensorType wide{DType::kF32,
                          {y[0], (blocks + count - 1) / count, y[2], y[3], lanes * count}};
    const Tensor from[] = {in[0], joined_blocks(builder, in[1], count)};
    const TypeId result[] = {wide};
    BYOC_TRY(std::vector<Tensor> sums, direct(builder, from, result, attrs));
    return std::vector<Tensor>{
        builder.compute("conv2d_nchwc", te::extents_of(*types[0]), [&](const Exprs& i) {
          return sums[0](i[0], floor_div(i[1], count), i[2], i[3],
                         floor_mod(i[1], count) * lanes + i[4]);
        })};
  };
  joined.compute = with_open_sizes(std::move(joined.compute));
  out.push_back(std::move(joined));
}

bool may_join(const te::Site& site) {
  return has_half_blocks(site) && site.attrs->i("group", 1) == 1;
}

void add_computes(const FamilyCall& call, Strategies& out) {
  const te::Site& site = call.site;
  if (is_pointwise(site)) add_pointwise(site, out);
  else if (may_join(site)) add_joined(site, out);
  if (has_one_tap(site))
    out.push_back({.name = "pointwise",
                   .level = kPreferred,
                   .compute = with_open_sizes(compute_plain_pointwise)});
  add_flat(site, out);
}

}  // namespace byoc::llvm_plugin::conv
